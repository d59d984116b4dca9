-- The last statement of a publish before its COMMIT: counts compared, receipt, pointers, run and event, in one.
-- READ COMMITTED, in the transaction that has held the partition since `lock_and_check_fence`. Whatever must keep the COMMIT from committing
-- raises here; the transaction may have been sent as one pipeline, COMMIT included.
-- $1 partition_id int8   $2 attempt_id int8   $3 token int8   $4 worker_id uuid   $5 kind text: publish, unchanged, rollback, adopt
-- $6 rows_deleted int8   $7 rows_inserted int8   $8 rows_updated int8   $9 target_rows int8   $10 target_checksum text
--    Null: read from the transaction-local settings thrice.rows_deleted, thrice.rows_inserted, thrice.rows_updated, thrice.target_rows
--    and thrice.target_checksum, where the statements before left them. Empty these at the start: a session may carry another run's.
--    with w as (insert into … returning 1) select set_config('thrice.rows_inserted', count(*)::text, true) from w
--    thrice.rows_before and thrice.checksum_before, where a statement read what the interval held before it was replaced: what others
--    changed since the receipt is told in the event and the answer. Other code may have other columns: then the count alone is compared.
--    thrice.comparison: $15 as JSON text, where a statement before compared old rows with new ones.
-- $11 points_to int8: only where a rollback moves a pointer and no rows: the older receipt whose rows are to be read
-- $12 history_relation text   $13 history_kept_for int8: seconds   $14 input_manifest jsonb   $15 comparison jsonb   $16 close bool
-- Raises TH002: the fence or the claim has moved · TH010: the run is unknown, or in no state that publishes
--        TH011: rows written and rows staged differ · TH012: rows read back and rows staged differ, or nothing was read back
--        TH013: `unchanged`, or a pointer, without a receipt that is equal
with run as (
  select l.*, p.pipeline_id, p.interval_start, p.data_attempt_id as before, y.strategy,
         d.row_count as before_rows, d.checksum as before_checksum,
         d.code_hash is not distinct from l.code_hash as same_code
    from thrice.pipeline_run_ledger l
    join thrice.partitions p on p.partition_id = l.partition_id
    join thrice.pipelines y on y.pipeline_id = p.pipeline_id
    left join thrice.publications d on d.attempt_id = coalesce($11::int8, p.data_attempt_id)
   where l.attempt_id = $2::int8 and l.partition_id = $1::int8 and l.token = $3::int8
     and (l.status = 'validated' or l.status = 'started' and (l.stage_mode = 'inline' or $5::text in ('adopt', 'rollback')))
), n as (
  select coalesce($6::int8, nullif(current_setting('thrice.rows_deleted', true), '')::int8) as deleted,
         coalesce($7::int8, nullif(current_setting('thrice.rows_inserted', true), '')::int8) as inserted,
         coalesce($8::int8, nullif(current_setting('thrice.rows_updated', true), '')::int8) as updated,
         coalesce($9::int8, nullif(current_setting('thrice.target_rows', true), '')::int8) as target_rows,
         coalesce($10::text, nullif(current_setting('thrice.target_checksum', true), '')) as target_checksum,
         nullif(current_setting('thrice.rows_before', true), '')::int8 as rows_before,
         nullif(current_setting('thrice.checksum_before', true), '') as checksum_before,
         coalesce($15::jsonb, nullif(current_setting('thrice.comparison', true), '')::jsonb) as compared
), judged as (
  select run.*, n.deleted, n.inserted, n.updated, n.rows_before, n.compared,
         coalesce(n.rows_before <> run.before_rows or run.same_code and n.checksum_before <> run.before_checksum, false) as edited,
         coalesce(n.target_rows, run.staged_rows) as final_rows, coalesce(n.target_checksum, run.staged_checksum) as final_checksum,
         case when $5::text in ('unchanged', 'adopt') or $11::int8 is not null then coalesce(n.deleted, 0) + coalesce(n.inserted, 0) + coalesce(n.updated, 0) = 0
              when run.strategy in ('delete_insert', 'append') then n.inserted = run.staged_rows
              else n.inserted is null or run.strategy = 'merge' or n.inserted = run.staged_rows end as written_ok,
         case when $5::text = 'adopt' then n.target_rows is not null and n.target_checksum is not null
              when n.target_rows is null then run.strategy = 'merge' and (select definition -> 'target' ->> 'rows' = 'changes' from thrice.pipelines y where y.pipeline_id = run.pipeline_id)
              else n.target_rows = run.staged_rows and (n.target_checksum is null or n.target_checksum = run.staged_checksum) end as read_back_ok,
         case when $5::text = 'unchanged' or $11::int8 is not null
              then run.before_rows = run.staged_rows and run.before_checksum = run.staged_checksum else true end as equal_ok
    from run, n
), receipt as (
  insert into thrice.publications (attempt_id, partition_id, token, kind, strategy, rows_deleted, rows_inserted, rows_updated, row_count, checksum,
         input_manifest, code_hash, revisit, comparison, previous_data_attempt_id, history_relation, history_expires_at)
  select $2, $1, $3, $5::text, strategy, deleted, inserted, updated, final_rows, final_checksum,
         $14::jsonb, code_hash, revisit, compared, before, $12::text, clock_timestamp() + make_interval(secs => $13::int8)
    from judged
   where final_rows is not null and final_checksum is not null   -- else TH012 below speaks, and not a null violation
  returning published_at, row_count, checksum, previous_data_attempt_id
), part as (                                                     -- compare and set, whatever the lock said
  update thrice.partitions
     set current_attempt_id = $2, version = version + 1, claimed_by = null, claimed_at = null, attempts_used = 0, retry_at = null,
         data_attempt_id = case when $11::int8 is not null then $11::int8 when $5::text = 'unchanged' then data_attempt_id else $2 end,
         closed_at = case when $16::bool then coalesce(closed_at, clock_timestamp()) else closed_at end
   where partition_id = $1 and fence = $3 and claimed_by is not distinct from $4::uuid   -- `=` would lead the planner into the index of claims and its dead entries
  returning version, data_attempt_id
), ended as (
  update thrice.pipeline_run_ledger l
     set status = 'published', row_count = j.final_rows, checksum = j.final_checksum, finished_at = clock_timestamp(), backend_pid = pg_backend_pid(),
         staged_at = coalesce(l.staged_at, now()), validated_at = coalesce(l.validated_at, now()),
         timings = l.timings || jsonb_build_object('publish', round(extract(epoch from clock_timestamp() - coalesce(l.validated_at, now())) * 1000))
    from judged j where l.attempt_id = $2 and l.attempt_id = j.attempt_id
), item as (
  update thrice.backfill_items i
     set state = case $5::text when 'unchanged' then 'unchanged' when 'rollback' then 'rolled_back' else 'published' end,
         attempt_id = $2, partition_id = $1, before_attempt_id = j.before, comparison = coalesce(j.compared, i.comparison)
    from judged j where i.backfill_id = j.backfill_id and i.interval_start = j.interval_start
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, attempt_id, backfill_id, actor, data)
  select case $5::text when 'publish' then 'published' when 'rollback' then 'rolled_back' when 'adopt' then 'adopted' else $5::text end,
         pipeline_id, $1, $2, backfill_id, actor, jsonb_build_object('token', $3::int8, 'rows', final_rows, 'checksum', final_checksum, 'closed', $16::bool)
         || case when edited then jsonb_build_object('edited_since_receipt', jsonb_build_object('rows_before', rows_before, 'receipt_rows', before_rows)) else '{}' end
    from judged
  union all
  select 'closed', pipeline_id, $1, $2, backfill_id, actor, jsonb_build_object('token', $3::int8) from judged where $16::bool
)
select thrice.assert((select count(*) from part) = 1, 'TH002', (select 'fence ' || fence from thrice.partitions where partition_id = $1))
   and thrice.assert((select count(*) from judged) = 1, 'TH010', (select status from thrice.pipeline_run_ledger where attempt_id = $2))
   and thrice.assert((select written_ok from judged), 'TH011', (select format('inserted %s, staged %s', inserted, staged_rows) from judged))
   and thrice.assert((select read_back_ok from judged), 'TH012', (select format('target %s %s, staged %s %s', final_rows, final_checksum, staged_rows, staged_checksum) from judged))
   and thrice.assert((select equal_ok from judged), 'TH013', (select format('receipt %s %s, staged %s %s', before_rows, before_checksum, staged_rows, staged_checksum) from judged))
   and thrice.assert((select count(*) from receipt) = 1, 'TH012', 'no rows or checksum for the receipt') as ok,
       (select version from part) as version, (select published_at from receipt) as published_at, (select row_count from receipt) as row_count,
       (select checksum from receipt) as checksum, (select data_attempt_id from part) as data_attempt_id,
       (select previous_data_attempt_id from receipt) as previous_data_attempt_id,
       (select rows_before from judged where edited) as edited_rows_before, (select before_rows from judged where edited) as edited_receipt_rows
