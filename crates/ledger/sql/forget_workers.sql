-- Removes dead workers that hold no claim any more.   $1 dead worker ids uuid[]
delete from thrice.workers w
 where w.worker_id = any ($1::uuid[])
   and not exists (select from thrice.partitions p where p.claimed_by = w.worker_id)
