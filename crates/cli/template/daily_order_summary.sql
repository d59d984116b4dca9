select timezone('Asia/Seoul', order_time)::date as dt,
       store_id,
       count(*) as order_count,
       sum(amount) as total_amount
from ods.orders
where order_time >= :interval_start
  and order_time < :interval_end
  and status = 'paid'
group by 1, 2
