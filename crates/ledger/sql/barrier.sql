-- Waits for a publish that still holds the partition, then shuts its token out for ever.   $1 partition_id int8   $2 token int8
-- No row: the fence has moved before. Whoever moved it has waited in our place.
update thrice.partitions
   set fence = fence + 1, claimed_by = null, claimed_at = null
 where partition_id = $1::int8 and fence = $2::int8
returning fence
