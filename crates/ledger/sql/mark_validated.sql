-- The checks have passed.   $1 attempt_id int8   $2 token int8   $3 timings jsonb
update thrice.pipeline_run_ledger
   set status = 'validated', validated_at = clock_timestamp(), timings = timings || coalesce($3::jsonb, '{}')
 where attempt_id = $1::int8 and token = $2::int8 and status = 'staged'
