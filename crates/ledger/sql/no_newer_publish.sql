-- Changes without a version can only be applied in their order. Under `lock_target`, a statement of its own.
-- $1 pipeline_id int4   $2 interval_epoch int4   $3 interval_start timestamptz
-- Raises TH014: a later interval is published.
select thrice.assert(newest.key is null, 'TH014', newest.key) as in_order
  from (select max(p.interval_key) as key from thrice.partitions p
         where p.pipeline_id = $1::int4 and p.interval_epoch = $2::int4 and p.interval_start > $3::timestamptz
           and p.data_attempt_id is not null) newest
