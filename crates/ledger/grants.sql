-- The three roles of the ledger. To be run by the owner of schema thrice after each migration, as often as one likes.
-- People and services are members:  create role app login in role thrice_worker;
-- One login for all workers of a project is best: they then see each other's sessions, so that a death is noticed at once and not when a
-- lease ends, and one can end another's stuck session. Several logins work as well, only more slowly.
-- No role here can delete a run, a receipt or an event: that is the owner's.
do $$ declare r text; begin
  foreach r in array array['thrice_reader', 'thrice_operator', 'thrice_worker'] loop
    if not exists (select from pg_roles where rolname = r) then execute format('create role %I nologin', r); end if;
  end loop; end $$;
revoke all on schema thrice, thrice_staging, thrice_history from public;
revoke all on all tables in schema thrice from public, thrice_reader, thrice_operator, thrice_worker;
revoke execute on all functions in schema thrice from public;

-- thrice_reader looks: status, calendar, metrics. By column, so that query texts, definitions, host names and sample keys stay out of sight.
grant usage on schema thrice to thrice_reader, thrice_operator, thrice_worker;
grant select on thrice.meta, thrice._sqlx_migrations, thrice.lanes, thrice.partitions, thrice.backfills, thrice.backfill_items, thrice.pipeline_run_ledger,
  thrice.publications, thrice.events, thrice.partition_status to thrice_reader;
grant execute on function thrice.published_through(text) to thrice_reader;
grant select (worker_id, started_at, heartbeat_at, expires_at) on thrice.workers to thrice_reader;
grant select (pipeline_id, pipeline_name, target, strategy, grain, time_zone, interval_epoch, lane, paused, code_hash, created_at, updated_at)
  on thrice.pipelines to thrice_reader;
grant select (pipeline_id, code_hash, git_revision, first_seen_at) on thrice.code_versions to thrice_reader;
grant select (attempt_id, phase, check_name, severity, passed, observed, expected) on thrice.check_results to thrice_reader;

-- thrice_operator decides: plans, pauses, closing and reopening, a new cut of time. Neither runs nor data. Triggers stamp the session's user on what it writes.
grant thrice_reader to thrice_operator;
grant select on thrice.pipelines, thrice.code_versions to thrice_operator;             -- plans compare definitions
grant insert, update (state, started_at, finished_at, lane, parallel) on thrice.backfills to thrice_operator;
grant insert, update (state, note) on thrice.backfill_items to thrice_operator;
grant update (paused, grain, time_zone, interval_epoch, updated_at) on thrice.pipelines to thrice_operator;   -- a new cut of time is a decision
grant update (closed_at, fence, claimed_by) on thrice.partitions to thrice_operator;    -- closed_at: a trigger moves the version with it; fence: a new cut shuts out runs of the old one
grant update (slots) on thrice.lanes to thrice_operator;
grant insert (kind, pipeline_id, partition_id, backfill_id, actor, data) on thrice.events to thrice_operator;
grant select, insert, update (result) on thrice.idempotency_keys to thrice_operator;

-- thrice_worker works: claims, runs, receipts. It deletes nothing but leases.
grant select on all tables in schema thrice to thrice_worker;
grant insert, delete, update (heartbeat_at, expires_at, backend_pid, backend_start) on thrice.workers to thrice_worker;
grant update (lane) on thrice.lanes to thrice_worker;                                   -- so that it may lock the row; the number of slots is the operator's
grant insert, update (slots), delete on thrice.lane_slots to thrice_worker;
grant insert (pipeline_name, target, strategy, grain, time_zone, interval_epoch, lane, code_hash, definition),
      update (target, strategy, grain, time_zone, interval_epoch, lane, code_hash, definition, updated_at) on thrice.pipelines to thrice_worker;
grant insert on thrice.code_versions, thrice.check_results to thrice_worker;
grant insert (pipeline_id, interval_epoch, interval_start, interval_end, interval_key, target_date, fence, claimed_by, claimed_at, attempts_used),
      update (fence, version, claimed_by, claimed_at, attempts_used, retry_at, current_attempt_id, data_attempt_id, closed_at)
  on thrice.partitions to thrice_worker;
grant insert, update (status, row_count, checksum, finished_at, input_manifest_uri, output_partition, backend_pid, stage_mode, staging_relation,
      staged_rows, staged_checksum, staged_at, validated_at, failure_class, sqlstate, error_code, error_message, timings)
  on thrice.pipeline_run_ledger to thrice_worker;
grant insert, update (history_expires_at) on thrice.publications to thrice_worker;
grant update (state, started_at, finished_at) on thrice.backfills to thrice_worker;
grant update (state, partition_id, attempt_id, before_attempt_id, comparison, note) on thrice.backfill_items to thrice_worker;
grant insert (kind, pipeline_id, partition_id, attempt_id, backfill_id, actor, data), update (sent_at) on thrice.events to thrice_worker;
grant insert, update (result) on thrice.idempotency_keys to thrice_worker;
grant execute on function thrice.assert(boolean, text, text) to thrice_worker;
-- A worker makes these tables and gives them to the role (`alter table … owner to thrice_worker`): another login must be able to drop them.
grant usage, create on schema thrice_staging, thrice_history to thrice_worker;
do $$ begin
  execute format('grant temporary on database %I to thrice_worker', current_database());
  execute format('revoke create on database %I from thrice_worker', current_database());
end $$;
