-- Kept rows whose time is over, by the table that holds them.
select r.history_relation as "relation!", array_agg(r.attempt_id order by r.attempt_id) as "attempts!",
       count(distinct r.partition_id) as "partitions!"
  from thrice.publications r
 where r.history_relation is not null and r.history_expires_at <= clock_timestamp()
 group by r.history_relation
 order by r.history_relation
