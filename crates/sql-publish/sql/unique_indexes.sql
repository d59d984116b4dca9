-- Unique indexes that hold for every row: valid, over plain columns, without a predicate. Exclusion constraints are others.
-- $1 relation oid
select k.relname::text as index_name,
       array(select a.attname::text
               from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality u (attnum, at)
               join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = u.attnum
              order by u.at) as columns
  from pg_catalog.pg_index i
  join pg_catalog.pg_class k on k.oid = i.indexrelid
 where i.indrelid = $1::oid and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
 order by 1
