-- Schema thrice: everything the ledger keeps. Released migrations are never edited; a change is a new file.
-- Three ideas carry it: `partitions.fence` decides who may publish, `publications` is the only proof that somebody did,
-- and `workers` says nothing but who is alive.
create schema if not exists thrice;
create schema if not exists thrice_staging;   -- unlogged tables that hold a run's result until it is published
create schema if not exists thrice_history;   -- rows that a publish replaced, kept so that it can be undone

create table thrice.meta (
  only_row boolean primary key default true check (only_row),
  system_identifier bigint not null,           -- receipts prove something only on the cluster that wrote them
  created_at timestamptz not null default now());

insert into thrice.meta (system_identifier) select system_identifier from pg_control_system();

create table thrice.lanes (                    -- one limit for every machine; thrice.toml only seeds it
  lane text primary key, slots int not null check (slots > 0));       -- a slot is one working connection; lanes never borrow
insert into thrice.lanes (lane, slots) values ('scheduled', 4), ('backfill', 2);

create table thrice.workers (                  -- one row per living process, renewed by its heartbeat; a claim points here
  worker_id uuid primary key, host text not null, os_pid int not null,
  backend_pid int not null, backend_start timestamptz not null,       -- no such session any more: dead now. expires_at is for sessions we cannot see
  started_at timestamptz not null default now(), heartbeat_at timestamptz not null default now(), expires_at timestamptz not null)
  with (fillfactor = 50);

create table thrice.lane_slots (               -- what each worker took of a lane; whoever takes locks the lane's row first
  worker_id uuid not null references thrice.workers on delete cascade, lane text not null references thrice.lanes,
  slots int not null check (slots >= 0), primary key (worker_id, lane));

create table thrice.pipelines (
  pipeline_id int generated always as identity primary key,
  pipeline_name text not null unique,
  target text not null unique,                 -- two pipelines never share a target
  strategy text not null check (strategy in ('delete_insert', 'merge', 'partition_swap', 'table_swap', 'append')),
  grain text not null, time_zone text not null,
  interval_epoch int not null default 1,       -- grows when the cut of time changes; partitions cut the old way keep their epoch
  lane text not null default 'scheduled' references thrice.lanes,
  paused boolean not null default false,
  code_hash bytea not null, definition jsonb not null,
  created_at timestamptz not null default now(), updated_at timestamptz not null default now());

create table thrice.code_versions (            -- the text behind every code hash that ever ran
  pipeline_id int not null references thrice.pipelines, code_hash bytea not null,
  query text not null, definition jsonb not null, git_revision text,
  first_seen_at timestamptz not null default now(), primary key (pipeline_id, code_hash));

create table thrice.partitions (
  partition_id bigint generated always as identity primary key,
  pipeline_id int not null references thrice.pipelines, interval_epoch int not null default 1,
  interval_start timestamptz not null, interval_end timestamptz not null check (interval_start < interval_end),
  interval_key text not null, target_date date not null,              -- the interval's first day, in the pipeline's zone
  fence bigint not null default 0,             -- the newest token handed out; a publish with an older one is refused
  version bigint not null default 0,           -- grows with every change of content or closing, so that a plan can see it is stale
  claimed_by uuid references thrice.workers on delete set null, claimed_at timestamptz,
  attempts_used int not null default 0, retry_at timestamptz,
  current_attempt_id bigint,                   -- the newest receipt
  data_attempt_id bigint,                      -- the receipt whose rows are in the target ('unchanged' moves only the line above)
  closed_at timestamptz,
  unique (pipeline_id, interval_epoch, interval_start)) with (fillfactor = 80);
create index partitions_claimed on thrice.partitions (claimed_by) where claimed_by is not null;
create index partitions_failed on thrice.partitions (pipeline_id, interval_start) where attempts_used > 0;   -- and claimed by nobody: the failed ones
create index partitions_retry on thrice.partitions (retry_at) where retry_at is not null;

create table thrice.backfills (
  backfill_id text primary key,                -- 'bf-7K3Q'
  pipeline_id int not null references thrice.pipelines,
  mode text[] not null check (mode <@ array['missing', 'failed', 'outdated', 'all']),
  class text not null check (class in ('bug_fix', 'late_data', 'source_correction', 'schema_change', 'outage_gap', 'new_logic', 'audit')),
  actor jsonb not null, reason text not null check (length(btrim(reason)) >= 3), ticket text,
  state text not null default 'planned' check (state in ('planned', 'canary', 'running', 'paused', 'held', 'done', 'cancelled', 'rolled_back', 'expired')),
  lane text not null default 'backfill' references thrice.lanes, parallel int not null default 1 check (parallel > 0),
  canary_count int not null default 0, stop_rules jsonb not null default '{}', options jsonb not null default '{}',
  plan jsonb not null, plan_hash bytea not null,
  created_at timestamptz not null default now(), expires_at timestamptz not null, started_at timestamptz, finished_at timestamptz);

create table thrice.backfill_items (           -- named by interval: a partition that never ran has no row
  backfill_id text not null references thrice.backfills on delete cascade, ordinal int not null,
  interval_start timestamptz not null, interval_end timestamptz not null, partition_id bigint references thrice.partitions,
  expected_version bigint not null, is_canary boolean not null default false,
  state text not null default 'planned' check (state in ('planned', 'running', 'held', 'published', 'unchanged', 'failed', 'skipped', 'cancelled', 'rolled_back')),
  attempt_id bigint, before_attempt_id bigint, comparison jsonb, note text,
  primary key (backfill_id, ordinal), unique (backfill_id, interval_start));
create index backfill_items_open on thrice.backfill_items (backfill_id, ordinal) where state in ('planned', 'running', 'held');

create table thrice.pipeline_run_ledger (      -- one row per run; its first ten columns are the ones other tools read
  pipeline_name text not null, target_date date not null, run_id text not null,      -- a uuid of version 7, for other systems
  status text not null check (status in ('started', 'staged', 'validated', 'published', 'failed', 'unknown')),
  input_manifest_uri text, output_partition text, row_count bigint, checksum text,
  started_at timestamptz not null default now(), finished_at timestamptz,
  primary key (pipeline_name, target_date, run_id),
  attempt_id bigint generated always as identity unique,
  partition_id bigint not null references thrice.partitions, attempt_no int not null, token bigint not null,
  trigger text not null check (trigger in ('schedule', 'revisit', 'manual', 'backfill', 'full_refresh', 'retry', 'rollback', 'adopt', 'prove', 'demo')),
  backfill_id text references thrice.backfills, revisit int,
  actor jsonb not null default '{}', reason text, worker_id uuid, backend_pid int, code_hash bytea,
  stage_mode text check (stage_mode in ('durable', 'inline')), staging_relation text, staged_rows bigint, staged_checksum text,
  staged_at timestamptz, validated_at timestamptz, resumed_from bigint,
  failure_class text check (failure_class in ('transient', 'permanent', 'check', 'guard', 'timeout', 'cancelled', 'fenced', 'abandoned')),
  sqlstate text, error_code text, error_message text,                  -- never a row's values: redacted before it gets here
  timings jsonb not null default '{}',
  unique (partition_id, attempt_no));
create index ledger_open on thrice.pipeline_run_ledger (partition_id) where status in ('started', 'staged', 'validated', 'unknown');
create index ledger_staging on thrice.pipeline_run_ledger (staging_relation) where staging_relation is not null;   -- the sweep asks who owns a table
create index ledger_time on thrice.pipeline_run_ledger using brin (started_at) with (autosummarize = on);

create table thrice.publications (             -- receipts: written in the transaction that moved the rows, changed never
  attempt_id bigint primary key, partition_id bigint not null references thrice.partitions, token bigint not null,
  kind text not null check (kind in ('publish', 'unchanged', 'rollback', 'adopt')),
  strategy text not null, rows_deleted bigint, rows_inserted bigint, rows_updated bigint,
  row_count bigint not null, checksum text not null,
  input_manifest jsonb, code_hash bytea, revisit int, comparison jsonb,
  previous_data_attempt_id bigint, history_relation text, history_expires_at timestamptz,
  xid text not null default pg_current_xact_id()::text, backend_pid int not null default pg_backend_pid(),
  timeline text not null default substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
  published_at timestamptz not null default clock_timestamp(),
  unique (partition_id, token), unique (partition_id, attempt_id));
-- The partition is part of both keys: a pointer cannot name another partition's receipt, and removing a receipt
-- finds who points at it through partitions' primary key (without it: two scans of the whole table for each).
alter table thrice.partitions add foreign key (partition_id, current_attempt_id)
  references thrice.publications (partition_id, attempt_id) deferrable initially deferred;
alter table thrice.partitions add foreign key (partition_id, data_attempt_id)
  references thrice.publications (partition_id, attempt_id) deferrable initially deferred;

create table thrice.check_results (
  attempt_id bigint not null, phase text not null check (phase in ('source', 'staged', 'guard')), check_name text not null,
  severity text not null check (severity in ('error', 'warn')), passed boolean not null,
  observed numeric, expected jsonb, sample_keys jsonb, primary key (attempt_id, phase, check_name));

create table thrice.events (                   -- what happened, and what is still to be told; committed with the fact itself
  event_id bigint generated always as identity, at timestamptz not null default clock_timestamp(),
  kind text not null, pipeline_id int, partition_id bigint, attempt_id bigint, backfill_id text,
  actor jsonb, data jsonb not null default '{}', sent_at timestamptz, primary key (at, event_id)) partition by range (at);
create table thrice.events_default partition of thrice.events default;
create index events_partition on thrice.events (partition_id, at desc);
create index events_unsent on thrice.events (event_id) where sent_at is null;

create table thrice.idempotency_keys (
  key text primary key, arguments_hash bytea not null, result jsonb, created_at timestamptz not null default now());

-- Statements of a publish may travel as one pipeline, COMMIT included. An error is then the only thing that stops it.
create function thrice.assert(ok boolean, code text, detail text) returns boolean language plpgsql as $$
begin
  if ok is not true then raise exception 'thrice: assertion failed' using errcode = code, detail = coalesce(detail, ''); end if;
  return true;
end $$;
create function thrice.fence_only_grows() returns trigger language plpgsql as $$
begin
  if new.closed_at is distinct from old.closed_at and new.version = old.version then new.version := old.version + 1; end if;
  if new.fence < old.fence or new.version < old.version then
    raise exception 'fence and version only grow' using errcode = '23514'; end if;
  return new;
end $$;
create trigger fence_only_grows before update of fence, version, closed_at on thrice.partitions
  for each row execute function thrice.fence_only_grows();
create function thrice.receipts_are_final() returns trigger language plpgsql as $$
begin   -- all but the date until which the replaced rows are kept
  if to_jsonb(new) - 'history_expires_at' is distinct from to_jsonb(old) - 'history_expires_at' then
    raise exception 'receipts are immutable' using errcode = '23514'; end if;
  return new;
end $$;
create trigger receipts_are_final before update on thrice.publications for each row execute function thrice.receipts_are_final();
create function thrice.runs_end_once() returns trigger language plpgsql as $$
begin
  if to_jsonb(new) - 'timings' is distinct from to_jsonb(old) - 'timings' then
    raise exception 'run % has ended', old.run_id using errcode = '23514'; end if;
  return new;
end $$;
create trigger runs_end_once before update on thrice.pipeline_run_ledger for each row
  when (old.status in ('published', 'failed')) execute function thrice.runs_end_once();
create function thrice.stamp_actor() returns trigger language plpgsql as $$
begin   -- whatever name the client gives, the server's own stands beside it
  new.actor := coalesce(new.actor, '{}') || jsonb_build_object('session_user', session_user);
  return new;
end $$;
create trigger stamp_actor before insert on thrice.pipeline_run_ledger for each row execute function thrice.stamp_actor();
create trigger stamp_actor before insert on thrice.backfills for each row execute function thrice.stamp_actor();
create trigger stamp_actor before insert on thrice.events for each row execute function thrice.stamp_actor();
revoke execute on all functions in schema thrice from public;
