-- Who writes this target, and whether any receipt of it exists.   $1 target text
select y.pipeline_name,
       exists (select from thrice.partitions p where p.pipeline_id = y.pipeline_id and p.current_attempt_id is not null) as "published!"
  from thrice.pipelines y where y.target = $1::text
