-- Whether a table of a schema can be given to a role so that this login still acts for it.
-- $1 role text   $2 schema text
select pg_has_role(r.oid, 'usage')
       and case when current_setting('server_version_num')::int >= 160000 then pg_has_role(r.oid, 'set') else true end
       and has_schema_privilege(r.oid, n.oid, 'create') as may
  from pg_catalog.pg_roles r, pg_catalog.pg_namespace n
 where r.rolname = $1::text and n.nspname = $2::text
