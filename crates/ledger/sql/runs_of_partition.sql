-- The runs of one partition in their order.   $1 partition_id int8
select l.attempt_id, l.partition_id, l.pipeline_name, p.interval_key, p.interval_start as "interval_start!: Moment",
       p.interval_end as "interval_end!: Moment", l.target_date as "target_date!: Day", l.run_id, l.attempt_no, l.token, l.status,
       l.trigger, l.actor, l.reason, l.backfill_id, l.revisit, l.worker_id, l.code_hash, l.stage_mode, l.resumed_from,
       l.output_partition, l.input_manifest_uri, l.staged_rows, l.row_count, l.checksum,
       l.failure_class, l.sqlstate, l.error_code, l.error_message, l.timings,
       l.started_at as "started_at!: Moment", l.staged_at as "staged_at!: MaybeMoment", l.validated_at as "validated_at!: MaybeMoment",
       l.finished_at as "finished_at!: MaybeMoment",
       r.kind as "receipt_kind?", r.rows_deleted as "rows_deleted?", r.rows_inserted as "rows_inserted?", r.rows_updated as "rows_updated?",
       r.comparison as "comparison?", r.history_expires_at as "history_expires_at!: MaybeMoment"
  from thrice.pipeline_run_ledger l
  join thrice.partitions p on p.partition_id = l.partition_id
  left join thrice.publications r on r.attempt_id = l.attempt_id
 where l.partition_id = $1::int8
 order by l.attempt_no
