-- A row where no open run names a staging table. Asked under its lock: whoever filled it meanwhile has committed by then.
-- $1 relation text: its name inside the schema
select 1 as unused
 where not exists (
   select from thrice.pipeline_run_ledger r
    where (r.staging_relation = any (array[$1::text, 'thrice_staging.' || $1::text, '"thrice_staging"."' || $1::text || '"'])
           or r.attempt_id = case when $1::text ~ '^p_[1-9][0-9]{0,17}$' then substr($1::text, 3)::int8 end)
      and r.status in ('started', 'staged', 'validated', 'unknown'))
