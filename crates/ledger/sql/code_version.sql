-- The query that ran under a code hash.   $1 pipeline_id int4   $2 code_hash bytea
select query, definition, git_revision, first_seen_at as "first_seen_at!: Moment"
  from thrice.code_versions where pipeline_id = $1::int4 and code_hash = $2::bytea
