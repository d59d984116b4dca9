-- Renews a lease. No row: the worker was forgotten, it must stop.   $1 worker_id uuid   $2 ttl float8: seconds
update thrice.workers
   set heartbeat_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => $2::float8)
 where worker_id = $1::uuid
