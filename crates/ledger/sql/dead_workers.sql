-- Workers whose claims may be taken over: their session has gone, or their lease has run out.
-- Its own statement, before `claim`. A session whose start is hidden from us (another login) counts as alive until its lease ends.
select w.worker_id
  from thrice.workers w
 where w.expires_at < clock_timestamp()
    or not exists (select from pg_stat_activity a
                    where a.pid = w.backend_pid and (a.backend_start = w.backend_start or a.backend_start is null))
