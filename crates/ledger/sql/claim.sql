-- Claims partitions for a worker. READ COMMITTED, a transaction of its own.
-- $1 worker_id uuid   $2 pipeline_id int4   $3 interval_epoch int4   $4 most int4: how many at most
-- $5 interval_start timestamptz[]   $6 interval_end timestamptz[]   $7 interval_key text[]   $8 dead workers uuid[]   $9 target_date date[]
-- $10 explicit bool: a person asked, so no retry time is waited for and the retry budget starts anew   $11 reopen bool: closed ones too
-- The arrays are in order of wish. What cannot be had is absent from the answer.
--
-- Dead workers come as an array and not as a join: after a lock wait PostgreSQL reads only the locked row again. A joined row of
-- thrice.workers would be the old one, and a claim made meanwhile would look like nobody's.
-- Not flushed to disk unless something was taken over: whatever a worker writes under its token comes later in the write-ahead log,
-- so a crash that loses the claim loses all of that as well. After a take-over somebody may act on "the other has not published".
-- The update is also the barrier of `resolve`: it has waited for whoever held the row, and the token it hands out shuts out older ones.
with cut as materialized (            -- the lock keeps a recut off until the claim stands, and then sees it
  select y.pipeline_id from thrice.pipelines y where y.pipeline_id = $2::int4 and y.interval_epoch = $3::int4 for key share
), wish as materialized (
  select u.*
    from unnest($5::timestamptz[], $6::timestamptz[], $7::text[], $9::date[])
         with ordinality as u (interval_start, interval_end, interval_key, target_date, place)
   where exists (select from cut)
), open as materialized (
  select w.*, p.partition_id
    from wish w left join thrice.partitions p
      on p.pipeline_id = $2::int4 and p.interval_epoch = $3::int4 and p.interval_start = w.interval_start
   where p.partition_id is null
      or (p.claimed_by is null or p.claimed_by = any ($8::uuid[]))
     and (p.closed_at is null or $11::bool) and ($10::bool or p.retry_at is null or p.retry_at <= now())
   order by w.place limit $4::int4
), made as (
  insert into thrice.partitions (pipeline_id, interval_epoch, interval_start, interval_end, interval_key, target_date,
                                 fence, claimed_by, claimed_at, attempts_used)
  select $2::int4, $3::int4, interval_start, interval_end, interval_key, target_date, 1, $1::uuid, now(), 1
    from open where partition_id is null
  on conflict do nothing            -- another worker made it in this very moment: it is theirs
  returning partition_id, interval_start, fence, version, attempts_used, current_attempt_id, data_attempt_id
), held as (
  select p.partition_id, p.claimed_by as taken_over, p.attempts_used as attempts_before, p.retry_at as retry_before
    from thrice.partitions p
   where p.partition_id in (select partition_id from open where partition_id is not null)
     and (p.claimed_by is null or p.claimed_by = any ($8::uuid[]))
     and (p.closed_at is null or $11::bool) and ($10::bool or p.retry_at is null or p.retry_at <= now())
     for no key update of p skip locked
), taken as (
  update thrice.partitions p
     set fence = p.fence + 1, claimed_by = $1::uuid, claimed_at = now(), retry_at = null,
         attempts_used = case when $10::bool then 1 else p.attempts_used + 1 end
    from held h where p.partition_id = h.partition_id
  returning p.partition_id, p.interval_start, p.fence, p.version, p.attempts_used, p.current_attempt_id, p.data_attempt_id,
            h.taken_over, h.attempts_before, h.retry_before
), told as (
  insert into thrice.events (kind, pipeline_id, partition_id, data)
  select 'taken_over', $2::int4, partition_id, jsonb_build_object('from', taken_over, 'by', $1::uuid, 'token', fence)
    from taken where taken_over is not null
), quick as materialized (          -- counted below, because a part that nobody asks is not run
  select set_config('synchronous_commit', 'off', true) as value where not exists (select from taken where taken_over is not null)
)
select partition_id as "partition_id!", interval_start as "interval_start!: Moment", fence as "token!", version as "version!",
       attempts_used as "attempts_used!", current_attempt_id as "current_attempt_id?", data_attempt_id as "data_attempt_id?",
       null::uuid as "taken_over?", 0 as "attempts_before!", null::timestamptz as "retry_before!: MaybeMoment"
  from made where (select count(*) from quick) >= 0
union all
select partition_id, interval_start, fence, version, attempts_used, current_attempt_id, data_attempt_id,
       taken_over, attempts_before, retry_before
  from taken where (select count(*) from quick) >= 0
