-- What the checks of a run that goes no further found.   $1 attempt_id int8   $2 results jsonb: an array of objects
insert into thrice.check_results (attempt_id, phase, check_name, severity, passed, observed, expected, sample_keys)
select $1::int8, x.phase, x.check_name, x.severity, x.passed, x.observed, x.expected, x.sample_keys
  from jsonb_to_recordset($2::jsonb)
       as x (phase text, check_name text, severity text, passed bool, observed numeric, expected jsonb, sample_keys jsonb)
on conflict do nothing              -- sent again after its answer was lost
