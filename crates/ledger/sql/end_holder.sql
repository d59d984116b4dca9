-- Ends a session whose COMMIT never arrived. Asks again, in the same statement, that it sits idle inside its transaction.
-- $1 application_name text   $2 backend_pid int4: as found by `holder`
select pg_terminate_backend(pid) as "ended!"
  from pg_stat_activity
 where datname = current_database() and application_name = $1::text and pid = $2::int4
   and state = 'idle in transaction' and wait_event is distinct from 'SyncRep'
