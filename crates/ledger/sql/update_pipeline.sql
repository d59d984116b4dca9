-- The current definition of a pipeline.   $1 pipeline_id int4   $2 target text   $3 strategy text   $4 grain text   $5 time_zone text
-- $6 interval_epoch int4   $7 lane text   $8 code_hash bytea   $9 definition jsonb
update thrice.pipelines
   set target = $2::text, strategy = $3::text, grain = $4::text, time_zone = $5::text, interval_epoch = $6::int4, lane = $7::text,
       code_hash = $8::bytea, definition = $9::jsonb, updated_at = now()
 where pipeline_id = $1::int4
