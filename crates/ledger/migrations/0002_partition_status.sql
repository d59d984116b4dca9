-- What reports join: which partitions are published, how settled their rows are, and up to where nothing is missing.

create view thrice.partition_status as         -- one row per published partition of the pipeline's cut of time
select y.pipeline_name, p.interval_key, p.interval_start, p.interval_end,
       case when p.closed_at is not null then 'closed'
            when f.final_after = 0 or r.revisit >= f.final_after then 'final'
            -- from before the policy: by its time, as far as intervals are equally long
            when r.revisit is null and r.published_at >= p.interval_end + f.final_after * (p.interval_end - p.interval_start) then 'final'
            else 'provisional' end as maturity,
       d.published_at, r.row_count,            -- when the rows in the target were written, and how many they are
       r.code_hash is distinct from y.code_hash as outdated                   -- made by other code than the pipeline has now
  from thrice.partitions p
  join thrice.pipelines y on y.pipeline_id = p.pipeline_id and y.interval_epoch = p.interval_epoch
  join thrice.publications r on r.attempt_id = p.current_attempt_id
  join thrice.publications d on d.attempt_id = p.data_attempt_id
 cross join lateral (select coalesce((y.definition -> 'late_data' ->> 'final_after')::int, 0) as final_after) f;

-- The end of the last interval up to which all are published, from the pipeline's start on. Null: the first one is missing.
-- For whoever may read the view, and no more: it reads the pipeline's start from a definition that readers may not see.
create function thrice.published_through(pipeline_name text) returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with begin as (
    select (y.definition -> 'interval' ->> 'start')::timestamptz as at from thrice.pipelines y where y.pipeline_name = $1
  ), published as (
    select s.interval_start, s.interval_end,
           lag(s.interval_end, 1, coalesce(b.at, s.interval_start)) over (order by s.interval_start) as before
      from thrice.partition_status s, begin b where s.pipeline_name = $1 and s.interval_start >= coalesce(b.at, '-infinity')
  )
  select max(p.interval_end) from published p
   where p.interval_start < coalesce((select min(g.interval_start) from published g where g.interval_start > g.before), 'infinity')
$$;

-- Who reopened what: asked for each run of a pipeline that closes its partitions.
create index events_reopened on thrice.events (pipeline_id, partition_id, at) where kind = 'reopened';
