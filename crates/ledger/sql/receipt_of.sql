-- The receipt of a run.   $1 attempt_id int8
-- A row is proof. No row proves something only after `barrier` or a claim, or on the connection whose COMMIT came back without an error.
select attempt_id, partition_id, token, kind, row_count, checksum, xid, timeline, published_at
  from thrice.publications
 where attempt_id = $1::int8
