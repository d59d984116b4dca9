-- 99,999 more hours, each with a run and a receipt like those of the first.
set session_replication_role = replica;
insert into thrice.partitions (pipeline_id, interval_epoch, interval_start, interval_end, interval_key, target_date, fence, version)
select p.pipeline_id, p.interval_epoch, p.interval_start + n * interval '1 hour', p.interval_end + n * interval '1 hour',
       to_char((p.interval_start + n * interval '1 hour') at time zone 'UTC', 'YYYY-MM-DD"T"HH24'),
       ((p.interval_start + n * interval '1 hour') at time zone 'UTC')::date, p.fence, p.version
  from thrice.partitions p, generate_series(1, 99999) n order by n;
insert into thrice.pipeline_run_ledger (pipeline_name, target_date, run_id, status, output_partition, row_count, checksum, started_at,
       finished_at, partition_id, attempt_no, token, trigger, actor, code_hash, stage_mode, staged_rows, staged_checksum, staged_at, validated_at, timings)
select l.pipeline_name, p.target_date, gen_random_uuid()::text, l.status, split_part(l.output_partition, '/', 1) || '/' || p.interval_key,
       l.row_count, l.checksum, l.started_at, l.finished_at, p.partition_id, 1, l.token, l.trigger, l.actor, l.code_hash, l.stage_mode,
       l.staged_rows, l.staged_checksum, l.staged_at, l.validated_at, l.timings
  from thrice.pipeline_run_ledger l, thrice.partitions p where p.partition_id <> l.partition_id order by p.partition_id;
insert into thrice.publications (attempt_id, partition_id, token, kind, strategy, rows_deleted, rows_inserted, row_count, checksum, code_hash)
select l.attempt_id, l.partition_id, l.token, r.kind, r.strategy, r.rows_deleted, r.rows_inserted, r.row_count, r.checksum, r.code_hash
  from thrice.publications r, thrice.pipeline_run_ledger l where l.attempt_id <> r.attempt_id;
update thrice.partitions p set current_attempt_id = l.attempt_id, data_attempt_id = l.attempt_id
  from thrice.pipeline_run_ledger l where l.partition_id = p.partition_id;
set session_replication_role = origin;
vacuum analyze thrice.partitions;
vacuum analyze thrice.pipeline_run_ledger;
vacuum analyze thrice.publications;
