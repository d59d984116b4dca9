-- Who writes this target.   $1 target text
select pipeline_name from thrice.pipelines where target = $1::text
