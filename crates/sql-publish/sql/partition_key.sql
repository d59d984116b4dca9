-- How a partitioned table is cut. `column` is null where the key is an expression or more than one column.
-- $1 relation oid
select p.partstrat::text as strategy,
       case when p.partnatts = 1 and p.partattrs[0] <> 0 then
         (select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = p.partrelid and a.attnum = p.partattrs[0]) end as column,
       pg_get_partkeydef(p.partrelid) as definition
  from pg_catalog.pg_partitioned_table p
 where p.partrelid = $1::oid
