-- The row of a run that begins. No row comes back where the claim is no longer ours.
-- $1 partition_id int8   $2 token int8   $3 worker_id uuid   $4 trigger text   $5 actor jsonb   $6 reason text   $7 code_hash bytea
-- $8 stage_mode text   $9 resumed_from int8   $10 backend_pid int4   $11 backfill_id text   $12 revisit int4
-- The share lock keeps the fence where it is until the row is there: while it holds, nobody else can number a run of this partition.
-- Not flushed to disk: a crash that loses this row loses whatever would follow from it as well.
with quick as materialized (
  select set_config('synchronous_commit', 'off', true) as value
), claim as materialized (
  select p.partition_id, p.pipeline_id, p.target_date, p.interval_key
    from thrice.partitions p, quick
   where p.partition_id = $1::int8 and p.fence = $2::int8 and p.claimed_by = $3::uuid and quick.value is not null
     for share of p
)
insert into thrice.pipeline_run_ledger (pipeline_name, target_date, run_id, status, output_partition, partition_id, attempt_no, token,
       trigger, actor, reason, worker_id, code_hash, stage_mode, resumed_from, backend_pid, backfill_id, revisit)
select y.pipeline_name, c.target_date,
       -- uuid version 7: milliseconds since 1970 on the server's clock, then random bits
       encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
              placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::int8) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid::text,
       'started', y.target || '/' || c.interval_key, c.partition_id,
       1 + coalesce((select max(l.attempt_no) from thrice.pipeline_run_ledger l where l.partition_id = c.partition_id), 0), $2::int8,
       $4::text, coalesce($5::jsonb, '{}'), $6::text, $3::uuid, $7::bytea, $8::text, $9::int8, $10::int4, $11::text, $12::int4
  from claim c join thrice.pipelines y on y.pipeline_id = c.pipeline_id
returning attempt_id, attempt_no, run_id, started_at as "started_at!: Moment"
