-- The newest staging of a partition that an ended run left behind and a new run may take over.   $1 partition_id int8
-- Only runs newer than the last publish: what was published has been compared with younger sources since.
select l.attempt_id, l.attempt_no, l.staging_relation as "staging_relation!", l.staged_rows as "staged_rows!",
       l.staged_checksum as "staged_checksum!", l.code_hash as "code_hash?", l.staged_at as "staged_at!: Moment"
  from thrice.pipeline_run_ledger l
 where l.partition_id = $1::int8 and l.status = 'failed' and l.failure_class in ('transient', 'abandoned')
   and l.stage_mode = 'durable' and l.staging_relation is not null and l.staged_rows is not null and l.staged_checksum is not null
   and l.staged_at is not null
   and l.trigger <> 'rollback'                                   -- what it staged is an old result, and no query's
   and not exists (select from thrice.pipeline_run_ledger n
                    where n.partition_id = l.partition_id and n.attempt_no > l.attempt_no and n.status = 'published')
 order by l.attempt_no desc limit 1
