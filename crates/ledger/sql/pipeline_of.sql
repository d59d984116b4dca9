-- A pipeline by name.   $1 pipeline_name text
select pipeline_id, pipeline_name, target, strategy, grain, time_zone, interval_epoch, lane, paused, code_hash, definition
  from thrice.pipelines where pipeline_name = $1::text
