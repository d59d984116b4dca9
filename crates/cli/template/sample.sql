-- A source with 14 Seoul days of orders, and an empty target. It makes what is missing, drops nothing and changes no row.
-- Schemas ods and mart that this file did not make are left alone: it stops before its first change.
do $sample$
declare
  mark constant text := 'thrice: made by sample.sql';
  foreign_one text;
begin
  perform set_config('client_min_messages', 'warning', true);
  select nspname into foreign_one from pg_namespace
   where nspname in ('ods', 'mart') and obj_description(oid, 'pg_namespace') is distinct from mark;
  if found then
    raise exception 'schema % exists and is not the sample''s; nothing was done', foreign_one
      using hint = 'Load the sample into a database of its own, such as one made with: createdb thrice_sample';
  end if;

  create schema if not exists ods;
  create schema if not exists mart;
  execute format('comment on schema ods is %L', mark);
  execute format('comment on schema mart is %L', mark);

  create table if not exists ods.orders (
    order_id bigint primary key,
    store_id int not null,
    order_time timestamptz not null,
    amount numeric(12, 2) not null,
    status text not null
  );
  create index if not exists orders_order_time_idx on ods.orders (order_time);

  -- 40,000 orders from 2026-03-11 to 2026-03-24, Seoul time, the same on every load
  insert into ods.orders
  select n,
         1 + (n * 7919::bigint) % 500,
         timestamptz '2026-03-11 00:00:00+09' + ((n * 30241::bigint) % 1209600) * interval '1 second',
         round(5 + (n * 104729::bigint) % 20000 / 100.0, 2),
         case when n % 23 = 0 then 'cancelled' else 'paid' end
  from generate_series(1, 40000) n
  on conflict (order_id) do nothing;

  create table if not exists mart.daily_order_summary (
    dt date not null,
    store_id int not null,
    order_count bigint not null,
    total_amount numeric(14, 2) not null,
    updated_at timestamptz not null,
    primary key (dt, store_id)
  );
end $sample$;
