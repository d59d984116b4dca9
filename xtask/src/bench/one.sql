begin;
delete from plain.daily where day = '{day}';
insert into plain.daily (day, store_id, orders, paid, total, updated_at)
select '{day}', store_id, count(*), count(*) filter (where status = 'paid'), sum(amount), now()
  from source.many
 where ordered_at >= timestamp '{day}' at time zone 'Asia/Seoul'
   and ordered_at < (timestamp '{day}' + interval '1 day') at time zone 'Asia/Seoul'
 group by store_id;
insert into plain.ledger (day, state, finished_at) values ('{day}', 'published', clock_timestamp());
commit;
