-- A process enters; the session that sends this is its sign of life.   $1 host text   $2 os_pid int4   $3 ttl float8: seconds
insert into thrice.workers (worker_id, host, os_pid, backend_pid, backend_start, expires_at)
select gen_random_uuid(), $1::text, $2::int4, a.pid, a.backend_start, clock_timestamp() + make_interval(secs => $3::float8)
  from pg_stat_activity a where a.pid = pg_backend_pid()
returning worker_id
