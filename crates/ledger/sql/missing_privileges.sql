-- What this session's role lacks on the ledger to run partitions, as statements to paste; the same as role thrice_worker has.
-- Reads nothing but the catalog, so that any role may ask.
with wanted (relation, privilege) as (
  select c.relname::text, 'select' from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = 'thrice' and c.relkind in ('r', 'p')
  union all
  values ('workers', 'insert'), ('workers', 'update'), ('workers', 'delete'),
         ('pipelines', 'insert'), ('pipelines', 'update'), ('code_versions', 'insert'), ('check_results', 'insert'),
         ('partitions', 'insert'), ('partitions', 'update'), ('pipeline_run_ledger', 'insert'), ('pipeline_run_ledger', 'update'),
         ('publications', 'insert'), ('backfill_items', 'update'), ('events', 'insert')
), lacking as (
  select w.relation, w.privilege
    from wanted w
    join pg_class c on c.relname = w.relation
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'thrice'
   where not case w.privilege when 'delete' then has_table_privilege(c.oid, 'delete') else has_any_column_privilege(c.oid, w.privilege) end
)
select text as "grant!" from (
  select 1 as place, format('grant %s on schema %I to %I;', string_agg(u.privilege, ', '), n.nspname, current_user) as text
    from (values ('thrice', 'usage'), ('thrice_staging', 'usage'), ('thrice_staging', 'create')) as u (nspname, privilege)
    join pg_namespace n on n.nspname = u.nspname
   where not has_schema_privilege(n.oid, u.privilege)
   group by n.nspname
  union all
  select 2, format('grant %s on thrice.%I to %I;', string_agg(privilege, ', '), relation, current_user) from lacking group by relation
  union all
  select 3, format('grant execute on function thrice.assert(boolean, text, text) to %I;', current_user)
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'thrice'
   where p.proname = 'assert' and not has_function_privilege(p.oid, 'execute')
) missing
 order by place, text
