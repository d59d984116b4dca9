-- Where the published partitions begin that nobody works on and whose last run did not fail, in their order: microseconds since 1970.
-- One array and no rows: a pipeline may have a hundred thousand of them.   $1 pipeline_id int4   $2 interval_epoch int4   $3 from timestamptz
select coalesce(array_agg((extract(epoch from interval_start) * 1000000)::int8 order by interval_start), '{}') as "starts!"
  from thrice.partitions
 where pipeline_id = $1::int4 and interval_epoch = $2::int4 and interval_start >= $3::timestamptz
   and data_attempt_id is not null and claimed_by is null and attempts_used = 0
