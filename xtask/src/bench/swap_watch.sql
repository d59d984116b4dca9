do $$ declare first timestamptz; last timestamptz; begun timestamptz := clock_timestamp();
begin
  loop
    if exists (select from pg_locks where relation = 'big.big_parts'::regclass and mode = 'AccessExclusiveLock' and granted) then
      first := coalesce(first, clock_timestamp());
      last := clock_timestamp();
    elsif first is not null then
      exit;
    end if;
    exit when clock_timestamp() > begun + interval '5 minutes';
    perform pg_sleep(0.0002);
  end loop;
  insert into big.held (ms) values (extract(epoch from last - first) * 1000);
end $$
