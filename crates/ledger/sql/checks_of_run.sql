-- What the checks of a run found.   $1 attempt_id int8
select phase, check_name, severity, passed, observed::text as "observed?", expected, sample_keys
  from thrice.check_results where attempt_id = $1::int8
 order by phase, check_name
