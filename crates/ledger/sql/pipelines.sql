-- All pipelines, for lists.
select y.pipeline_id, y.pipeline_name, y.target, y.strategy, y.grain, y.time_zone, y.interval_epoch, y.lane, y.paused, y.code_hash,
       y.created_at as "created_at!: Moment", y.updated_at as "updated_at!: Moment"
  from thrice.pipelines y order by y.pipeline_name
