-- Whether a staging table has exactly the given columns of a target, with the target's types, lengths and collations.
-- $1 schema text   $2 table text   $3 target oid   $4 columns text[] in order
with staging as (
  select row_number() over (order by a.attnum) as at, a.attname::text as name, a.atttypid, a.atttypmod, a.attcollation
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_class c on c.oid = a.attrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
   where n.nspname = $1::text and c.relname = $2::text and a.attnum > 0 and not a.attisdropped
), target as (
  select w.at, w.name, a.atttypid, a.atttypmod, a.attcollation
    from unnest($4::text[]) with ordinality w (name, at)
    left join pg_catalog.pg_attribute a on a.attrelid = $3::oid and a.attname::text = w.name and a.attnum > 0 and not a.attisdropped
)
select (select count(*) from staging) = (select count(*) from target)
       and not exists (select from staging s full join target t on t.at = s.at and t.name = s.name
                        where (s.atttypid, s.atttypmod, s.attcollation) is distinct from (t.atttypid, t.atttypmod, t.attcollation)) as same
