-- Locks the target of a pipeline for a publish whose keys may lie in any interval. Before the partition's row, as everywhere.
-- $1 pipeline_id int4
select 1 as locked from thrice.pipelines where pipeline_id = $1::int4 for no key update
