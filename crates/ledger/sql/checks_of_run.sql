-- What the checks of a run found, without the keys of rows: `thrice_reader` may not see those.   $1 attempt_id int8
select phase, check_name, severity, passed, observed::text as "observed?", expected
  from thrice.check_results where attempt_id = $1::int8
 order by phase, check_name
