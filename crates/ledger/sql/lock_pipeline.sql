-- A pipeline by name, locked for a change of its definition, with what the change depends on.   $1 pipeline_name text
select y.pipeline_id, y.pipeline_name, y.target, y.strategy, y.grain, y.time_zone, y.interval_epoch, y.lane, y.paused, y.code_hash, y.definition,
       exists (select from thrice.partitions p where p.pipeline_id = y.pipeline_id and p.interval_epoch = y.interval_epoch) as "has_partitions!",
       exists (select from thrice.partitions p where p.pipeline_id = y.pipeline_id and p.interval_epoch = y.interval_epoch
                  and p.current_attempt_id is not null) as "has_receipts!"
  from thrice.pipelines y where y.pipeline_name = $1::text
   for no key update of y
