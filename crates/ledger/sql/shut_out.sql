-- Takes the partitions of older epochs from whoever works on them: their tokens publish nothing any more. Waits for a publish that is
-- under way.   $1 pipeline_id int4   $2 before int4: epochs before this one
update thrice.partitions p set fence = p.fence + 1, claimed_by = null
 where p.pipeline_id = $1::int4 and p.interval_epoch < $2::int4 and p.claimed_by is not null
