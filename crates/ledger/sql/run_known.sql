-- Is this the database in which the run was started?   $1 attempt_id int8   $2 partition_id int8   $3 token int8
select exists (select from thrice.pipeline_run_ledger
                where attempt_id = $1::int8 and partition_id = $2::int8 and token = $3::int8) as "known!"
