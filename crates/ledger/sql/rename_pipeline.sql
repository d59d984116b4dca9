-- Gives a pipeline that has published nothing, and that nobody works on, another name: its target goes along.
-- $1 pipeline_name text   $2 new name text
update thrice.pipelines y
   set pipeline_name = $2::text, updated_at = now()
 where y.pipeline_name = $1::text
   and not exists (select from thrice.partitions p
                    where p.pipeline_id = y.pipeline_id and (p.current_attempt_id is not null or p.claimed_by is not null))
   and not exists (select from thrice.pipelines n where n.pipeline_name = $2::text)
