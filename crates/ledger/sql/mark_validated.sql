-- The checks have passed: their results and the run's state, in one.
-- $1 attempt_id int8   $2 token int8   $3 timings jsonb   $4 results jsonb: an array of objects
-- Not flushed to disk: a crash that loses it loses the unlogged staging, too. The publish behind it is flushed with it.
with quick as materialized (
  select set_config('synchronous_commit', 'off', true) as value
), kept as (
  insert into thrice.check_results (attempt_id, phase, check_name, severity, passed, observed, expected, sample_keys)
  select $1::int8, x.phase, x.check_name, x.severity, x.passed, x.observed, x.expected, x.sample_keys
    from quick, jsonb_to_recordset($4::jsonb)
         as x (phase text, check_name text, severity text, passed bool, observed numeric, expected jsonb, sample_keys jsonb)
   where quick.value is not null
  on conflict do nothing            -- sent again after its answer was lost
)
update thrice.pipeline_run_ledger
   set status = 'validated', validated_at = clock_timestamp(), timings = timings || coalesce($3::jsonb, '{}')
 where attempt_id = $1::int8 and token = $2::int8 and status = 'staged'
