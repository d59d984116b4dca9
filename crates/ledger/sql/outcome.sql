-- Ends the runs of a partition that are still open and can publish no more, and says which of them had published.
-- $1 partition_id int8   $2 below int8: runs with smaller tokens than this. After `barrier` or `claim`, in a statement of its own:
-- only a snapshot younger than the barrier proves that a receipt is absent.
with open as (
  select l.attempt_id, l.attempt_no, l.run_id, l.status, l.stage_mode, l.staging_relation, l.staged_rows, l.staged_checksum, l.staged_at,
         l.code_hash, l.backfill_id, l.token, r.attempt_id is not null as published, p.pipeline_id
    from thrice.pipeline_run_ledger l
    join thrice.partitions p on p.partition_id = l.partition_id
    left join thrice.publications r on r.attempt_id = l.attempt_id
   where l.partition_id = $1::int8 and l.token < $2::int8 and l.status in ('started', 'staged', 'validated', 'unknown')
), ended as (                         -- open and published at once can only be the work of a person: both are one transaction
  update thrice.pipeline_run_ledger l
     set status = case when o.published then 'published' else 'failed' end,
         failure_class = case when o.published then null else 'abandoned' end,
         finished_at = coalesce(l.finished_at, clock_timestamp())
    from open o
   where l.attempt_id = o.attempt_id and l.status in ('started', 'staged', 'validated', 'unknown')
  returning l.attempt_id
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, attempt_id, backfill_id, data)
  select 'resolved', o.pipeline_id, $1::int8, o.attempt_id, o.backfill_id,
         jsonb_build_object('published', o.published, 'was', o.status, 'token', o.token)
    from open o join ended e on e.attempt_id = o.attempt_id
)
select attempt_id, attempt_no, run_id, status, stage_mode as "stage_mode?", staging_relation as "staging_relation?",
       staged_rows as "staged_rows?", staged_checksum as "staged_checksum?", staged_at as "staged_at!: MaybeMoment",
       code_hash as "code_hash?", token, published as "published!"
  from open order by attempt_no
