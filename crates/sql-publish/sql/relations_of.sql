-- A table and the partitions of it.
-- $1 relation oid
select n.nspname::text as schema, c.relname::text as name
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where c.oid = $1::oid or c.oid in (select p.relid from pg_catalog.pg_partition_tree($1::oid::regclass) p)
