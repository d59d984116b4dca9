-- Partitions that were reopened after their newest receipt.   $1 pipeline_id int4   $2 interval_epoch int4
select distinct p.interval_start as "interval_start!: Moment"
  from thrice.events e
  join thrice.partitions p on p.partition_id = e.partition_id
  join thrice.publications r on r.attempt_id = p.current_attempt_id
 where e.kind = 'reopened' and e.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and e.at >= r.published_at
