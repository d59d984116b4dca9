-- The database's clock, the only one that decides what is due and what has expired.
select clock_timestamp() as "now!: Moment"
