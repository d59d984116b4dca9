-- Why a partition could not be claimed.   $1 pipeline_id int4   $2 interval_epoch int4   $3 interval_start timestamptz
select p.partition_id as "partition_id!", p.fence as "token!", p.claimed_by as "worker_id?", p.claimed_at as "claimed_at!: MaybeMoment",
       p.closed_at as "closed_at!: MaybeMoment", p.retry_at as "retry_at!: MaybeMoment",
       w.host as "host?", w.os_pid as "os_pid?", w.expires_at as "expires_at!: MaybeMoment",
       coalesce(w.expires_at >= clock_timestamp() and exists (
         select from pg_stat_activity a
          where a.pid = w.backend_pid and (a.backend_start = w.backend_start or a.backend_start is null)), false) as "alive!",
       l.attempt_no as "attempt_no?", l.status as "run_status?", clock_timestamp() as "asked_at!: Moment"
  from thrice.partitions p
  left join thrice.workers w on w.worker_id = p.claimed_by
  left join lateral (select attempt_no, status from thrice.pipeline_run_ledger
                      where partition_id = p.partition_id and status in ('started', 'staged', 'validated', 'unknown')
                      order by attempt_no desc limit 1) l on true
 where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and p.interval_start = $3::timestamptz
