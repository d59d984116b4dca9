-- The first statement of a publish: locks the partition and checks the fence under the lock.
-- READ COMMITTED, alone, before any data is touched; the lock is held until the transaction ends.
-- $1 partition_id int8   $2 token int8   $3 reopen bool: closed is no obstacle
-- Raises TH002: a newer token exists, this worker was replaced · TH003: the partition is closed.
select thrice.assert(p.fence = $2::int8, 'TH002', 'fence ' || p.fence) as fence_ok,
       thrice.assert(p.closed_at is null or $3::bool, 'TH003', 'closed at ' || p.closed_at) as open_ok,
       p.version, p.current_attempt_id, p.data_attempt_id
  from thrice.partitions p
 where p.partition_id = $1::int8
   for no key update of p
