-- A run ends without a receipt and the partition is free again. After the ROLLBACK of a refused publish too.
-- $1 partition_id int8   $2 attempt_id int8   $3 token int8   $4 failure_class text   $5 sqlstate text   $6 error_code text
-- $7 error_message text: redacted   $8 retry_after float8: seconds from now, null = not by itself
-- A worker that was replaced ends its own run only; the partition is its successor's (released = false).
with run as (
  update thrice.pipeline_run_ledger
     set status = 'failed', failure_class = $4::text, sqlstate = $5::text, error_code = $6::text, error_message = $7::text,
         finished_at = clock_timestamp()
   where attempt_id = $2::int8 and partition_id = $1::int8 and token = $3::int8 and status in ('started', 'staged', 'validated')
     and not exists (select from thrice.publications where attempt_id = $2::int8)
  returning attempt_id, backfill_id
), free as (
  update thrice.partitions
     set claimed_by = null, claimed_at = null, retry_at = clock_timestamp() + make_interval(secs => $8::float8)
   where partition_id = $1::int8 and fence = $3::int8 and claimed_by is not null
  returning retry_at
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, attempt_id, backfill_id, data)
  select case $4::text when 'fenced' then 'fenced' else 'failed' end,
         (select pipeline_id from thrice.partitions where partition_id = $1::int8), $1::int8, r.attempt_id, r.backfill_id,
         jsonb_build_object('class', $4::text, 'code', $6::text, 'sqlstate', $5::text, 'token', $3::int8,
                            'retry_at', (select retry_at from free))
    from run r
)
select exists (select from run) as "ended!", exists (select from free) as "released!", (select retry_at from free) as "retry_at!: MaybeMoment"
