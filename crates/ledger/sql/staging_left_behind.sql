-- Tables in schema thrice_staging that no open run owns.   $1 pipeline_id int4 or null: all, unowned ones too
-- A worker that is alive uses the table of a published run again, and drops it in the end.
-- The newest run that names a table owns it: an adopted staging belongs to the run that adopted it. What is prepared for a swap has its
-- run's number as name.
select c.relname::text as "relation!", l.attempt_id as "attempt_id?", l.partition_id as "partition_id?", l.pipeline_id as "pipeline_id?",
       l.status as "status?", l.failure_class as "failure_class?", l.finished_at as "finished_at!: MaybeMoment",
       extract(epoch from clock_timestamp() - l.finished_at)::float8 as "seconds_since_end?"
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'thrice_staging'
  left join lateral (
    select r.attempt_id, r.partition_id, p.pipeline_id, r.status, r.failure_class, r.finished_at, r.worker_id
      from thrice.pipeline_run_ledger r join thrice.partitions p on p.partition_id = r.partition_id
     where r.staging_relation = any (array[c.relname::text, 'thrice_staging.' || c.relname, '"thrice_staging"."' || c.relname || '"'])
        or r.attempt_id = case when c.relname ~ '^p_[1-9][0-9]{0,17}$' then substr(c.relname, 3)::int8 end
     order by r.attempt_id desc limit 1) l on true
 where c.relkind in ('r', 'p')
   and (l.status is null or l.status in ('published', 'failed'))
   and ($1::int4 is null or l.pipeline_id = $1::int4)
   and not (l.status is not distinct from 'published' and exists (
         select from thrice.workers w join pg_stat_activity a
                  on a.pid = w.backend_pid and (a.backend_start = w.backend_start or a.backend_start is null)
          where w.worker_id = l.worker_id and w.expires_at >= clock_timestamp()))
 order by c.relname
