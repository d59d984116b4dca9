-- A source with 14 Seoul days of orders, and an empty target. Safe to run again: it starts anew.
set client_min_messages = warning;
drop schema if exists ods cascade;
create schema ods;
create schema if not exists mart;

create table ods.orders (
  order_id bigint primary key,
  store_id int not null,
  order_time timestamptz not null,
  amount numeric(12, 2) not null,
  status text not null
);

-- 40,000 orders from 2026-03-11 to 2026-03-24, Seoul time, the same on every load
insert into ods.orders
select n,
       1 + (n * 7919::bigint) % 500,
       timestamptz '2026-03-11 00:00:00+09' + ((n * 30241::bigint) % 1209600) * interval '1 second',
       round(5 + (n * 104729::bigint) % 20000 / 100.0, 2),
       case when n % 23 = 0 then 'cancelled' else 'paid' end
from generate_series(1, 40000) n;

create index on ods.orders (order_time);

drop table if exists mart.daily_order_summary;
create table mart.daily_order_summary (
  dt date not null,
  store_id int not null,
  order_count bigint not null,
  total_amount numeric(14, 2) not null,
  updated_at timestamptz not null,
  primary key (dt, store_id)
);
