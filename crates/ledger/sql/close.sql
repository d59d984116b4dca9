-- Closes published partitions: nothing publishes into them until they are reopened. Waits for a publish that is under way.
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 interval_start timestamptz[]   $4 actor jsonb   $5 reason text
-- What was closed already is absent from the answer, and so is what is not published.
with part as (
  update thrice.partitions p set closed_at = clock_timestamp()
   where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and p.interval_start = any ($3::timestamptz[])
     and p.closed_at is null and p.data_attempt_id is not null
  returning p.partition_id, p.interval_start
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, actor, data)
  select 'closed', $1::int4, partition_id, $4::jsonb, jsonb_build_object('reason', $5::text) from part
)
select interval_start as "interval_start!: Moment" from part
