-- The relation behind a name, and what the role may do with it.
-- $1 schema text   $2 table text
select c.oid,
       c.relkind::text,
       c.relpersistence::text,
       row_security_active(c.oid) as row_security,
       current_user::text as role,
       has_schema_privilege(n.oid, 'usage') as may_use_schema,
       has_any_column_privilege(c.oid, 'select') as may_select,
       has_any_column_privilege(c.oid, 'insert') as may_insert,
       has_table_privilege(c.oid, 'delete') as may_delete,
       exists (select from pg_catalog.pg_inherits i
                 join pg_catalog.pg_class k on k.oid = i.inhrelid
                 join pg_catalog.pg_namespace kn on kn.oid = k.relnamespace
                where i.inhparent = c.oid and c.relkind = 'r' and kn.nspname !~ '^_timescaledb') as has_children,
       has_any_column_privilege(c.oid, 'update') as may_update
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname = $1::text and c.relname = $2::text
