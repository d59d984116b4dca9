-- What these workers have claimed, and the run that each claim has open.   $1 worker ids uuid[]
select p.partition_id, p.fence as "token!", y.pipeline_name, p.interval_key, p.claimed_at as "claimed_at!: MaybeMoment",
       w.host as "host?", w.os_pid as "os_pid?",
       l.attempt_id as "attempt_id?", l.attempt_no as "attempt_no?", l.backend_pid as "backend_pid?"
  from thrice.partitions p
  join thrice.pipelines y on y.pipeline_id = p.pipeline_id
  left join thrice.workers w on w.worker_id = p.claimed_by
  left join thrice.pipeline_run_ledger l
    on l.partition_id = p.partition_id and l.token = p.fence and l.status in ('started', 'staged', 'validated', 'unknown')
 where p.claimed_by = any ($1::uuid[])
 order by p.partition_id
