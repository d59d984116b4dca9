-- Everything that a partition's status is derived from, for one pipeline and the intervals that start in [from, to).
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 from timestamptz   $4 to timestamptz: null, no end
-- $5 unsettled bool: only those that are in no stretch of `published_stretches`
select p.partition_id as "partition_id!", p.interval_start as "interval_start!: Moment", p.interval_end as "interval_end!: Moment",
       p.interval_key as "interval_key!", p.target_date as "target_date!: Day", p.fence as "token!", p.version as "version!",
       p.claimed_by as "claimed_by?", p.claimed_at as "claimed_at!: MaybeMoment", p.attempts_used as "attempts_used!",
       p.retry_at as "retry_at!: MaybeMoment", p.closed_at as "closed_at!: MaybeMoment",
       p.current_attempt_id as "current_attempt_id?", p.data_attempt_id as "data_attempt_id?",
       r.kind as "receipt_kind?", r.row_count as "row_count?", r.checksum as "checksum?", r.code_hash as "receipt_code_hash?",
       r.revisit as "revisit?", r.published_at as "published_at!: MaybeMoment",
       d.published_at as "data_published_at!: MaybeMoment",
       l.attempt_id as "last_attempt_id?", l.attempt_no as "last_attempt_no?", l.status as "last_status?",
       l.failure_class as "last_failure_class?", l.sqlstate as "last_sqlstate?", l.error_code as "last_error_code?",
       l.error_message as "last_error_message?", l.code_hash as "last_code_hash?",
       l.started_at as "last_started_at!: MaybeMoment", l.finished_at as "last_finished_at!: MaybeMoment"
  from thrice.partitions p
  left join thrice.publications r on r.attempt_id = p.current_attempt_id
  left join thrice.publications d on d.attempt_id = p.data_attempt_id
  left join lateral (select * from thrice.pipeline_run_ledger l
                      where l.partition_id = p.partition_id order by l.attempt_no desc limit 1) l on true
 where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4
   and p.interval_start >= $3::timestamptz and ($4::timestamptz is null or p.interval_start < $4::timestamptz)
   and not ($5::bool and p.data_attempt_id is not null and p.claimed_by is null and p.attempts_used = 0)
 order by p.interval_start
