-- Ends a claim that led to no run, as if it had not been made; only the fence stays where the claim moved it.
-- $1 partition_id int8   $2 token int8   $3 attempts_before int4   $4 retry_before timestamptz
update thrice.partitions
   set claimed_by = null, claimed_at = null, attempts_used = $3::int4, retry_at = $4::timestamptz
 where partition_id = $1::int8 and fence = $2::int8 and claimed_by is not null
