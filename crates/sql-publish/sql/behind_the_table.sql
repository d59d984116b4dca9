-- What else happens when rows of the relation (or of its partitions) are deleted and inserted: triggers, rules, foreign keys.
-- $1 relation oid
with tree as (
  select $1::oid as relid union select p.relid from pg_catalog.pg_partition_tree($1::oid::regclass) p
)
select 'trigger' as kind, t.tgname::text as name, n.nspname::text as schema, c.relname::text as relation, '' as action, false as deferred
  from pg_catalog.pg_trigger t join tree on tree.relid = t.tgrelid
  join pg_catalog.pg_class c on c.oid = t.tgrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where not t.tgisinternal and t.tgparentid = 0 and t.tgenabled in ('O', 'A')
   and (t.tgtype & 12) <> 0                                         -- fires on insert (4) or delete (8)
union all
select 'rule', r.rulename::text, n.nspname::text, c.relname::text, '', false
  from pg_catalog.pg_rewrite r join tree on tree.relid = r.ev_class
  join pg_catalog.pg_class c on c.oid = r.ev_class join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where r.rulename <> '_RETURN' and r.ev_enabled in ('O', 'A')
union all
select 'foreign key', k.conname::text, n.nspname::text, c.relname::text, k.confdeltype::text, k.condeferred
  from pg_catalog.pg_constraint k join tree on tree.relid = k.confrelid
  join pg_catalog.pg_class c on c.oid = k.conrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where k.contype = 'f' and k.conparentid = 0
 order by 1, 3, 4, 2
