-- Holds claims of a pipeline off until the transaction ends, having waited for those under way. A claim that waits reads the cut again.
-- $1 pipeline_id int4
select y.interval_epoch from thrice.pipelines y where y.pipeline_id = $1::int4 for update
