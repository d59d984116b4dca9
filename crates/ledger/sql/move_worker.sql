-- From now on the session that sends this is the worker's sign of life. Renews the lease too.   $1 worker_id uuid   $2 ttl float8: seconds
update thrice.workers w
   set backend_pid = a.pid, backend_start = a.backend_start,
       heartbeat_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(secs => $2::float8)
  from pg_stat_activity a
 where w.worker_id = $1::uuid and a.pid = pg_backend_pid()
