-- Stretches of published partitions without a gap that nobody works on and whose last run did not fail: where they begin and end.
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 from timestamptz
-- One row where a stretch begins, one where it ends, or one for both; a history of years is a row or two.
select interval_start as "interval_start!: Moment", interval_end as "interval_end!: Moment", first as "first!", last as "last!"
  from (select interval_start, interval_end,
               lag(interval_end) over w is distinct from interval_start as first,
               lead(interval_start) over w is distinct from interval_end as last
          from thrice.partitions
         where pipeline_id = $1::int4 and interval_epoch = $2::int4 and interval_start >= $3::timestamptz
           and data_attempt_id is not null and claimed_by is null and attempts_used = 0
        window w as (order by interval_start)) edge
 where first or last
 order by interval_start
