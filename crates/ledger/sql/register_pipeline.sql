-- A pipeline seen for the first time. No row: the name is known already.
-- $1 pipeline_name text   $2 target text   $3 strategy text   $4 grain text   $5 time_zone text   $6 lane text   $7 code_hash bytea
-- $8 definition jsonb
insert into thrice.pipelines (pipeline_name, target, strategy, grain, time_zone, lane, code_hash, definition)
values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bytea, $8::jsonb)
on conflict (pipeline_name) do nothing
returning pipeline_id
