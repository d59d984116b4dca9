-- A receipt from before a policy is judged by when the revisit was due: the pipeline's delay belongs to it.

create or replace view thrice.partition_status as         -- one row per published partition of the pipeline's cut of time
select y.pipeline_name, p.interval_key, p.interval_start, p.interval_end,
       case when p.closed_at is not null then 'closed'
            when f.final_after = 0 or r.revisit >= f.final_after then 'final'
            -- from before the policy: by its time, as far as intervals are equally long
            when r.revisit is null and r.published_at >= p.interval_end + f.final_after * (p.interval_end - p.interval_start) + f.delay then 'final'
            else 'provisional' end as maturity,
       d.published_at, r.row_count,            -- when the rows in the target were written, and how many they are
       r.code_hash is distinct from y.code_hash as outdated                   -- made by other code than the pipeline has now
  from thrice.partitions p
  join thrice.pipelines y on y.pipeline_id = p.pipeline_id and y.interval_epoch = p.interval_epoch
  join thrice.publications r on r.attempt_id = p.current_attempt_id
  join thrice.publications d on d.attempt_id = p.data_attempt_id
 cross join lateral (select coalesce((y.definition -> 'late_data' ->> 'final_after')::int, 0) as final_after,
                            coalesce(regexp_replace(y.definition -> 'interval' ->> 'delay', '([wdhms])', '\1 ', 'g')::interval, '0') as delay) f;
