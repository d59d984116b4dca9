-- Keeps the text behind a code hash, once.   $1 pipeline_id int4   $2 code_hash bytea   $3 query text   $4 definition jsonb   $5 git_revision text
insert into thrice.code_versions (pipeline_id, code_hash, query, definition, git_revision)
values ($1::int4, $2::bytea, $3::text, $4::jsonb, $5::text)
on conflict do nothing
