-- The result of a run is staged. In the transaction that fills the staging table, so that one never stands without the other.
-- $1 attempt_id int8   $2 token int8   $3 staging_relation text   $4 staged_rows int8   $5 staged_checksum text   $6 input_manifest_uri text
-- Raises TH010: the run is not in the state `started` (it was ended by somebody else).
with run as (
  update thrice.pipeline_run_ledger
     set status = 'staged', staging_relation = $3::text, staged_rows = $4::int8, staged_checksum = $5::text,
         input_manifest_uri = coalesce($6::text, input_manifest_uri), staged_at = clock_timestamp()
   where attempt_id = $1::int8 and token = $2::int8 and status = 'started'
  returning attempt_id
)
select thrice.assert((select count(*) from run) = 1, 'TH010',
                     (select 'run is ' || status from thrice.pipeline_run_ledger where attempt_id = $1::int8)) as ok
