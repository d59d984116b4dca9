-- Whether partitions of a pipeline, as it is cut now, have a receipt.   $1 pipeline_id int4
select exists (select from thrice.partitions p join thrice.pipelines y using (pipeline_id, interval_epoch)
                where p.pipeline_id = $1::int4 and p.current_attempt_id is not null) as "published!"
