-- The COMMIT of a publish was sent and not answered.   $1 attempt_id int8   $2 token int8
-- The publish itself may still hold the run's row. It is not waited for here (`resolve` does that), hence marked = false.
with run as (
  select l.attempt_id, l.partition_id, l.backfill_id, p.pipeline_id
    from thrice.pipeline_run_ledger l join thrice.partitions p on p.partition_id = l.partition_id
   where l.attempt_id = $1::int8 and l.token = $2::int8
     and (l.status = 'validated' or l.status = 'started' and (l.stage_mode = 'inline' or l.trigger in ('adopt', 'rollback')))
), free as (
  select l.attempt_id from thrice.pipeline_run_ledger l
   where l.attempt_id in (select attempt_id from run) and l.status in ('started', 'validated')
     for no key update of l skip locked
), marked as (
  update thrice.pipeline_run_ledger l set status = 'unknown' from free where l.attempt_id = free.attempt_id returning l.attempt_id
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, attempt_id, backfill_id, data)
  select 'unknown', pipeline_id, partition_id, attempt_id, backfill_id, jsonb_build_object('token', $2::int8) from run
)
select exists (select from run) as "open!", exists (select from marked) as "marked!"
