-- Relations whose names stand in a query and which the role may not read.   $1 query text
-- Runs on the query's own search path; the caller looks closer at where the names stand.
select n.nspname::pg_catalog.text as schema, c.relname::pg_catalog.text as relation,
       pg_catalog.has_schema_privilege(n.oid, 'usage') as may_use_schema,
       pg_catalog.has_any_column_privilege(c.oid, 'select') as may_select,
       n.nspname operator(pg_catalog.=) any (pg_catalog.current_schemas(true)) as on_path,
       current_user::pg_catalog.text as role
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
 where c.relkind operator(pg_catalog.=) any (array['r', 'p', 'v', 'm', 'f']::pg_catalog."char"[])
   and n.nspname operator(pg_catalog.<>) 'information_schema' and n.nspname operator(pg_catalog.!~) '^pg_'
   and pg_catalog.strpos(pg_catalog.lower($1::pg_catalog.text), pg_catalog.lower(c.relname::pg_catalog.text)) operator(pg_catalog.>) 0
   and not (pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_any_column_privilege(c.oid, 'select'))
 order by 1, 2
