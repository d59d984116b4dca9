drop schema if exists big cascade;
create schema big;
create table big.moves (v int);
insert into big.moves values (0);
create table big.held (at timestamptz default clock_timestamp(), ms float8);
create table big.big_rows (day date not null, n int not null, shop int, amount numeric(12, 2), note text, primary key (day, n));
create index on big.big_rows (shop);
create table big.big_parts (like big.big_rows including all) partition by range (day)
