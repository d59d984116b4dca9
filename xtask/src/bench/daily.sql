select :interval_date as day, store_id, count(*) as orders, count(*) filter (where status = 'paid') as paid,
       sum(amount) as total
  from {source}
 where ordered_at >= :interval_start and ordered_at < :interval_end
 group by store_id
