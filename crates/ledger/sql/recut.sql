-- Opens a new epoch of a pipeline's partitions and tells who did it and why. Before it, in the same transaction: `lock_pipeline`, so that
-- one epoch is opened, and `shut_out`, so that nobody publishes into the old one any more.
-- $1 pipeline_id int4   $2 grain text   $3 time_zone text   $4 actor jsonb   $5 reason text
-- Partitions of the old epoch keep it, with their receipts. The definition stays as it is until the next run brings its own.
with old as materialized (
  select y.grain, y.time_zone, y.interval_epoch,
         (select count(*) from thrice.partitions p where p.pipeline_id = y.pipeline_id and p.interval_epoch = y.interval_epoch
             and p.current_attempt_id is not null) as published
    from thrice.pipelines y where y.pipeline_id = $1::int4
), cut as (
  update thrice.pipelines y set grain = $2::text, time_zone = $3::text, interval_epoch = y.interval_epoch + 1, updated_at = now()
   where y.pipeline_id = $1::int4
  returning y.interval_epoch
), told as (
  insert into thrice.events (kind, pipeline_id, actor, data)
  select 'recut', $1::int4, $4::jsonb, jsonb_build_object(
           'reason', $5::text, 'published', old.published,
           'old', jsonb_build_object('grain', old.grain, 'time_zone', old.time_zone, 'interval_epoch', old.interval_epoch),
           'new', jsonb_build_object('grain', $2::text, 'time_zone', $3::text, 'interval_epoch', cut.interval_epoch))
    from old, cut
)
select old.grain as "grain!", old.time_zone as "time_zone!", cut.interval_epoch as "interval_epoch!", old.published as "published!"
  from old, cut
