-- Runs whose COMMIT was sent and not answered, oldest first.   $1 most int8
select l.attempt_id, l.partition_id, l.attempt_no, l.token, l.backend_pid as "backend_pid?", y.pipeline_name, p.interval_key,
       l.started_at as "started_at!: Moment"
  from thrice.pipeline_run_ledger l
  join thrice.partitions p on p.partition_id = l.partition_id
  join thrice.pipelines y on y.pipeline_id = p.pipeline_id
 where l.status = 'unknown'
 order by l.attempt_id
 limit $1::int8
