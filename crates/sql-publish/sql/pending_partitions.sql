-- Partitions whose concurrent detach was interrupted: the parent no longer shows their rows.
-- $1 relation oid
select format('%I.%I', n.nspname, c.relname) as name
  from pg_catalog.pg_inherits i
  join pg_catalog.pg_class c on c.oid = i.inhrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where i.inhparent = $1::oid and i.inhdetachpending
 order by 1
