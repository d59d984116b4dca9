-- Empty targets for both contenders, and no ledger.
set client_min_messages = error;
drop schema if exists plain, road, thrice, thrice_staging, thrice_history cascade;
create schema plain;
create schema road;
create table plain.daily (day date not null, store_id bigint not null, orders bigint not null, paid bigint not null,
  total numeric(38,2) not null, updated_at timestamptz not null, primary key (day, store_id));
create table road.daily (like plain.daily including all);
create table plain.ledger (run_id bigint generated always as identity primary key, day date not null, state text not null,
  started_at timestamptz not null default now(), finished_at timestamptz not null);
create index on plain.ledger (day);
