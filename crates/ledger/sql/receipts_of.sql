-- The receipts of one partition, newest first, with where the rows that each replaced are kept.
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 interval_start timestamptz
select r.attempt_id as "attempt_id!", l.attempt_no as "attempt_no!", r.kind as "kind!", r.strategy as "strategy!",
       r.row_count as "row_count!", r.checksum as "checksum!", r.code_hash as "code_hash?", r.published_at as "published_at!: Moment",
       r.history_relation as "history_relation?", r.history_expires_at as "history_expires_at!: MaybeMoment"
  from thrice.partitions p
  join thrice.publications r on r.partition_id = p.partition_id
  join thrice.pipeline_run_ledger l on l.attempt_id = r.attempt_id
 where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and p.interval_start = $3::timestamptz
 order by r.token desc
