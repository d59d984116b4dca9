-- The columns of a relation in declared order. A domain answers with the type beneath it as well.
-- $1 relation oid
with recursive beneath (attnum, typ) as (
  select a.attnum, a.atttypid from pg_catalog.pg_attribute a where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
  union all
  select b.attnum, t.typbasetype from beneath b join pg_catalog.pg_type t on t.oid = b.typ where t.typtype = 'd'
)
select a.attname::text as name,
       format_type(a.atttypid, a.atttypmod) as type_name,
       (select b.typ from beneath b join pg_catalog.pg_type t on t.oid = b.typ where b.attnum = a.attnum and t.typtype <> 'd') as base_type,
       a.attnotnull or exists (select from beneath b join pg_catalog.pg_type t on t.oid = b.typ
                                where b.attnum = a.attnum and t.typtype = 'd' and t.typnotnull) as not_null,
       a.atthasdef or exists (select from beneath b join pg_catalog.pg_type t on t.oid = b.typ
                               where b.attnum = a.attnum and t.typtype = 'd' and t.typdefault is not null) as has_default,
       a.attidentity::text as identity,
       a.attgenerated::text as generated,
       has_column_privilege(a.attrelid, a.attnum, 'insert') as may_insert,
       has_column_privilege(a.attrelid, a.attnum, 'select') as may_select,
       a.atttypid as type_oid
  from pg_catalog.pg_attribute a
 where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped
 order by a.attnum
