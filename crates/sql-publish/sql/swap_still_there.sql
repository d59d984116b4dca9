-- Whether a partition is still the one that was found: the same table under the same name, attached to the same parent.
-- $1 oid of the partition   $2 oid of the parent   $3 schema text   $4 name text
select exists (
  select from pg_catalog.pg_inherits i
    join pg_catalog.pg_class c on c.oid = i.inhrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
   where i.inhrelid = $1::oid and i.inhparent = $2::oid and not i.inhdetachpending and n.nspname = $3::text and c.relname = $4::text) as still_there
