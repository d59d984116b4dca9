-- That a staging table still has exactly the given columns of a target, with the types, lengths and collations that the table of the
-- target's name has now. An error where it has not: what follows in the flight must not run. On the user's search path: every name is
-- qualified.   $1 schema text   $2 table text   $3 the target's schema text   $4 the target's table text   $5 columns text[] in order
with columns as (
  select n.nspname, c.relname, a.attname, a.attnum, a.atttypid, a.atttypmod, a.attcollation
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) a.attrelid
    join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
   where a.attnum operator(pg_catalog.>) 0 and not a.attisdropped
)
select case when
  (select pg_catalog.array_agg(pg_catalog.concat_ws(' ', s.attname, s.atttypid, s.atttypmod, s.attcollation) order by s.attnum)
     from columns s
    where s.nspname operator(pg_catalog.=) $1::pg_catalog.text and s.relname operator(pg_catalog.=) $2::pg_catalog.text)
  operator(pg_catalog.=)
  (select pg_catalog.array_agg(pg_catalog.concat_ws(' ', w.name, t.atttypid, t.atttypmod, t.attcollation) order by w.at)
     from pg_catalog.unnest($5::pg_catalog.text[]) with ordinality w (name, at)
     left join columns t on t.nspname operator(pg_catalog.=) $3::pg_catalog.text and t.relname operator(pg_catalog.=) $4::pg_catalog.text
           and t.attname operator(pg_catalog.=) w.name)
  then true else pg_catalog.concat('the columns of ', $2::pg_catalog.text, ' are not those of the target')::pg_catalog.bool end
