-- Who keeps a session waiting, where no publish of this run is found.   $1 partition_id int8
select a.pid as "pid!", a.application_name as "application_name!", a.state as "state?"
  from pg_stat_activity a
 where a.datname = current_database() and a.pid <> pg_backend_pid()
   and a.application_name like 'thrice:' || $1::int8 || '#%'
 limit 1
