-- Closes partitions whose time the late-data policy says is over: their last correction is made, and nobody reopened them since.
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 interval_start timestamptz[]   $4 actor jsonb
-- Skips what somebody holds this moment: the next run closes it.
with due as (
  select p.partition_id
    from thrice.partitions p
    join thrice.publications r on r.attempt_id = p.current_attempt_id
   where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and p.interval_start = any ($3::timestamptz[])
     and p.closed_at is null and p.claimed_by is null
     and not exists (select from thrice.events e where e.kind = 'reopened' and e.pipeline_id = $1::int4
                        and e.partition_id = p.partition_id and e.at >= r.published_at)
     for no key update of p skip locked
), part as (
  update thrice.partitions p set closed_at = clock_timestamp() from due where p.partition_id = due.partition_id
  returning p.partition_id
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, actor, data)
  select 'closed', $1::int4, partition_id, $4::jsonb, jsonb_build_object('by', 'late_data') from part
)
select count(*) as "closed!" from part
