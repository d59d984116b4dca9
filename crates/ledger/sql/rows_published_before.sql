-- Rows of the published partitions nearest before one, nearest first: what readers see of them, so that a result that was published
-- again unchanged counts once. Of the same cut of time only.   $1 partition_id int8   $2 at most so many int8
select r.row_count
  from thrice.partitions p
  join thrice.partitions o
    on o.pipeline_id = p.pipeline_id and o.interval_epoch = p.interval_epoch and o.interval_start < p.interval_start
  join thrice.publications r on r.attempt_id = o.data_attempt_id
 where p.partition_id = $1::int8
 order by o.interval_start desc
 limit $2::int8
