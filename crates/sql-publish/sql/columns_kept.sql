-- The target's columns that a table of kept rows holds, in the target's order, and whether each is what it was.
-- $1 schema text   $2 table text   $3 target oid
select k.attname::text as name,
       coalesce((k.atttypid, k.atttypmod, k.attcollation) is not distinct from (a.atttypid, a.atttypmod, a.attcollation), false) as same
  from pg_catalog.pg_attribute k
  join pg_catalog.pg_class c on c.oid = k.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join pg_catalog.pg_attribute a on a.attrelid = $3::oid and a.attname = k.attname and a.attnum > 0 and not a.attisdropped
 where n.nspname = $1::text and c.relname = $2::text and k.attnum > 0 and not k.attisdropped
   and k.attname::text not in ('thrice_replaced_by', 'thrice_was_there')
 order by a.attnum
