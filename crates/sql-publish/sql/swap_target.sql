-- What the role may do with a partitioned table whose partitions are swapped, and who else hears of its rows.
-- $1 relation oid
with tree as (
  select $1::oid as relid union select p.relid from pg_catalog.pg_partition_tree($1::oid::regclass) p
)
select o.rolname::text as owner, current_user::text as role, pg_has_role(c.relowner, 'usage') as is_ours,
       has_schema_privilege(n.oid, 'create') as may_create,
       has_schema_privilege(c.relowner, n.oid, 'create') as owner_may_create,
       (select format('%I.%I', dn.nspname, d.relname) from pg_catalog.pg_partitioned_table t
          join pg_catalog.pg_class d on d.oid = t.partdefid join pg_catalog.pg_namespace dn on dn.oid = d.relnamespace
         where t.partrelid = c.oid) as default_partition,
       array(select p.pubname::text from pg_catalog.pg_publication p
              where p.puballtables
                 or exists (select from pg_catalog.pg_publication_rel r join tree on tree.relid = r.prrelid where r.prpubid = p.oid)
                 or exists (select from pg_catalog.pg_publication_namespace s join pg_catalog.pg_class k on k.relnamespace = s.pnnspid
                              join tree on tree.relid = k.oid where s.pnpubid = p.oid)
              order by 1) as publications,
       array(select format('%I.%I', rn.nspname, r.relname) from pg_catalog.pg_constraint k
               join pg_catalog.pg_class r on r.oid = k.confrelid join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
              where k.conrelid = c.oid and k.contype = 'f' and k.conparentid = 0 and not has_table_privilege(r.oid, 'references')
              order by 1) as not_to_be_referenced,
       o.rolsuper as owner_is_superuser
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_roles o on o.oid = c.relowner
 where c.oid = $1::oid
