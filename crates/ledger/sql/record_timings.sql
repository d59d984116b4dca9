-- Adds to a run's timings, also after its end.   $1 attempt_id int8   $2 timings jsonb
update thrice.pipeline_run_ledger set timings = timings || $2::jsonb where attempt_id = $1::int8
