-- A process leaves; what it still had claimed becomes free, with the fence where it was.   $1 worker_id uuid
-- A partition that is held by a publish would be waited for: not here, a worker without a session is dead anyway.
with quick as materialized (
  select set_config('lock_timeout', '2s', true) as value
)
delete from thrice.workers w using quick where w.worker_id = $1::uuid and quick.value is not null
