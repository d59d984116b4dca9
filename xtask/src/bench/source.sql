-- Orders by hash, the same on every machine: 365 Seoul days of 10,000 orders, and 3,650 days of 100; 500 stores.
create schema source;
create function source.hash(id bigint, salt int) returns bigint language sql immutable parallel safe
  as 'select hashint8extended(id, salt) & 9223372036854775807';
create table source.many (order_id bigint not null, store_id bigint not null, ordered_at timestamptz not null,
  status text not null, amount numeric(18,2) not null);
create table source.few (like source.many);
insert into source.many
select id, 1 + source.hash(id, 1) % 500,
       timestamptz '2025-01-01 00:00+09' + id / 10000 * interval '1 day' + source.hash(id, 2) % 86400 * interval '1 second',
       case source.hash(id, 3) % 10 when 8 then 'cancelled' when 9 then 'pending' else 'paid' end,
       (1000 + source.hash(id, 4) % 9900000)::numeric / 100
  from generate_series(0::bigint, 3649999) id;
insert into source.few
select id, 1 + source.hash(id, 1) % 500,
       timestamptz '2016-01-01 00:00+09' + id / 100 * interval '1 day' + source.hash(id, 2) % 86400 * interval '1 second',
       case source.hash(id, 3) % 10 when 8 then 'cancelled' when 9 then 'pending' else 'paid' end,
       (1000 + source.hash(id, 4) % 9900000)::numeric / 100
  from generate_series(0::bigint, 364999) id;
create index on source.many (ordered_at);
create index on source.few (ordered_at);
vacuum analyze source.many;
vacuum analyze source.few;
create function source.content(tab regclass) returns text language plpgsql as $$
declare content text;
begin
  execute format($q$select count(*) || ':' || coalesce(sum(orders), 0) || ':' || coalesce(sum(paid), 0) || ':' || coalesce(sum(total), 0) || ':' ||
    md5(coalesce(string_agg(concat_ws('|', day, store_id, orders, paid, total), chr(10) order by day, store_id), '')) from %s$q$, tab) into content;
  return content;
end $$;
create table source.days_of_many as
select timezone('Asia/Seoul', ordered_at)::date as day, store_id, count(*) as orders, count(*) filter (where status = 'paid') as paid,
       sum(amount)::numeric(38,2) as total from source.many group by 1, 2;
create table source.days_of_few as
select timezone('Asia/Seoul', ordered_at)::date as day, store_id, count(*) as orders, count(*) filter (where status = 'paid') as paid,
       sum(amount)::numeric(38,2) as total from source.few group by 1, 2;
