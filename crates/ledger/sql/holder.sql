-- The session that keeps `barrier` waiting.   $1 application_name text: 'thrice:<partition>#<attempt_no>'   $2 backend_pid int4 or null
-- $3 xid text or null: the transaction's id, where the caller knows it (this view shows its low 32 bits)
select pid as "pid!", state as "state?", wait_event_type as "wait_event_type?", wait_event as "wait_event?",
       pg_blocking_pids(pid) as "blocked_by!",
       coalesce(extract(epoch from clock_timestamp() - state_change), 0)::float8 as "seconds_in_state!"
  from pg_stat_activity
 where datname = current_database() and application_name = $1::text
   and ($2::int4 is null or pid = $2::int4)
   and ($3::text is null or backend_xid is null or backend_xid::text = ($3::text::numeric % 4294967296)::text)
 limit 1
