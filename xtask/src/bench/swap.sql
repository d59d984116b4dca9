select date '2026-03-24' as day, n, n % 1000 as shop, (n * 7 + (select v from big.moves))::numeric(12, 2) as amount, md5(n::text) as note
  from generate_series(1, 1000000) n
 where :interval_date = date '2026-03-24'
