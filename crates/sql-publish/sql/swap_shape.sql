-- What a table must have before it can take the place of a partition: what that partition has, or where there is none yet, what the
-- parent gives. Columns, defaults and checks of the parent come with LIKE; what the parent has and the old partition has not (an index
-- that was just made) comes from the parent.
-- $1 oid of the parent   $2 oid of the old partition, or 0
-- In the order of making. `definition` is the server's own text behind the name, `detail` a tablespace or who is granted to (empty: the
-- database's own; everyone), `flag` that a name is the parent's, or that a grant may be handed on.
with model as (
  select c.* from pg_catalog.pg_class c where c.oid = case when $2::oid = 0 then $1::oid else $2::oid end
), indexes as (
  select i.*, x.relname, x.reltablespace, t.relname as of_table, n.nspname as of_schema, t.relkind as of_kind,
         k.conname, k.contype, pg_get_constraintdef(k.oid) as constraint_definition
    from pg_catalog.pg_index i
    join pg_catalog.pg_class x on x.oid = i.indexrelid
    join pg_catalog.pg_class t on t.oid = i.indrelid
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    left join pg_catalog.pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x') and k.conrelid = i.indrelid
   where i.indrelid = $2::oid
      or i.indrelid = $1::oid
         and not exists (select from pg_catalog.pg_inherits h join pg_catalog.pg_index o on o.indexrelid = h.inhrelid
                          where h.inhparent = i.indexrelid and o.indrelid = $2::oid)
), indexed as (
  select indexes.*, pg_get_indexdef(indexrelid) as text,
         format('CREATE %sINDEX %I ON %s%I.%I USING ', case when indisunique then 'UNIQUE ' else '' end, relname,
                case when of_kind = 'p' then 'ONLY ' else '' end, of_schema, of_table) as head
    from indexes
)
select kind, name, definition, detail, flag from (
  select 0 as place, 'table' as kind, m.relname::text as name, coalesce((select a.amname::text from pg_catalog.pg_am a where a.oid = m.relam), '') as definition,
         coalesce((select s.spcname::text from pg_catalog.pg_tablespace s where s.oid = m.reltablespace), '') as detail, $2::oid = 0 as flag
    from model m
  union all
  select 1, case when contype is not null then 'constraint' when indisunique then 'unique index' else 'index' end, relname::text,
         case when contype is not null then constraint_definition when starts_with(text, head) then substr(text, length(head) + 1) end,
         coalesce((select s.spcname::text from pg_catalog.pg_tablespace s where s.oid = reltablespace), ''), indrelid = $1::oid
    from indexed
  union all
  select 2, 'cluster', x.relname::text, '', '', false
    from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid where i.indrelid = $2::oid and i.indisclustered
  union all
  select 3, 'check', k.conname::text, pg_get_constraintdef(k.oid), '', false
    from pg_catalog.pg_constraint k where k.conrelid = $2::oid and k.conrelid <> 0 and k.contype = 'c' and k.coninhcount = 0   -- 0: of a domain
  union all
  select 4, 'not null', a.attname::text, '', '', false
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_attribute p on p.attrelid = $1::oid and p.attname = a.attname
   where a.attrelid = $2::oid and a.attnum > 0 and not a.attisdropped and a.attnotnull and not p.attnotnull
  union all
  select 5, 'statistics', a.attname::text, a.attstattarget::text, '', false
    from pg_catalog.pg_attribute a where a.attrelid = $2::oid and a.attnum > 0 and not a.attisdropped and a.attstattarget >= 0
  union all
  select 6, 'column option', a.attname::text, format('%I = %L', o.option_name, o.option_value), '', false
    from pg_catalog.pg_attribute a, pg_options_to_table(a.attoptions) o where a.attrelid = $2::oid and a.attnum > 0 and not a.attisdropped
  union all
  select 7, 'option', '', format('%I = %L', o.option_name, o.option_value), '', false
    from model m, pg_options_to_table(m.reloptions) o where m.relkind = 'r'
  union all
  select 7, 'option', '', format('toast.%I = %L', o.option_name, o.option_value), '', false
    from model m join pg_catalog.pg_class t on t.oid = m.reltoastrelid, pg_options_to_table(t.reloptions) o where m.relkind = 'r'
  union all
  select 8, 'comment', '', d.description, '', false
    from pg_catalog.pg_description d where d.classoid = 'pg_catalog.pg_class'::regclass and d.objoid = $2::oid and d.objsubid = 0
  union all
  select 8, 'column comment', a.attname::text, d.description, '', false
    from pg_catalog.pg_description d join pg_catalog.pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
   where d.classoid = 'pg_catalog.pg_class'::regclass and d.objoid = $2::oid and d.objsubid > 0
  union all
  select 9, 'grant', '', g.privilege_type, coalesce(r.rolname::text, ''), g.is_grantable
    from pg_catalog.pg_class c cross join aclexplode(c.relacl) g left join pg_catalog.pg_roles r on r.oid = g.grantee
   where c.oid = $2::oid and g.grantee <> c.relowner
  union all
  select 9, 'grant', a.attname::text, g.privilege_type, coalesce(r.rolname::text, ''), g.is_grantable
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
   cross join aclexplode(a.attacl) g left join pg_catalog.pg_roles r on r.oid = g.grantee
   where c.oid = $2::oid and a.attnum > 0 and not a.attisdropped and g.grantee <> c.relowner
  union all
  select 10, 'foreign key', k.conname::text, pg_get_constraintdef(k.oid), '', false
    from pg_catalog.pg_constraint k
   where k.contype = 'f' and k.conrelid = case when $2::oid = 0 then $1::oid else $2::oid end
     and (k.conparentid = 0 or exists (select from pg_catalog.pg_constraint p where p.oid = k.conparentid and p.conrelid = $1::oid))
) shape
 order by place, kind, name
