-- Reopens closed partitions. The event keeps the late-data policy from closing them again by the passing of time alone.
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 interval_start timestamptz[]   $4 actor jsonb   $5 reason text
-- A partition that the policy would close at the next run is open still, and is told of in the same way.
with part as (
  update thrice.partitions p set closed_at = null
   where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and p.interval_start = any ($3::timestamptz[])
     and p.data_attempt_id is not null
  returning p.partition_id, p.interval_start
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, actor, data)
  select 'reopened', $1::int4, partition_id, $4::jsonb, jsonb_build_object('reason', $5::text) from part
)
select interval_start as "interval_start!: Moment" from part
