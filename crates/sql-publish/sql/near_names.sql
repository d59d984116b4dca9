-- Tables that the wrong name may have meant: the same name elsewhere, and the names beside it.
-- $1 schema text   $2 table text
select n.nspname::text as schema, c.relname::text as name
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
   and (lower(c.relname) = lower($2::text) or n.nspname = $1::text)
 order by lower(c.relname) = lower($2::text) desc, 1, 2
 limit 200
