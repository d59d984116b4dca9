-- How a pipeline cuts time now: what a look at its partitions needs, and all of it that `thrice_reader` may see.   $1 pipeline_name text
select pipeline_id, interval_epoch, target, grain, time_zone from thrice.pipelines where pipeline_name = $1::text
