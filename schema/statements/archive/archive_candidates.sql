-- Ended runs whose end is older than $1 and whose caller, if any, is gone; those after (started_at, run_id) of the page
-- before.
select r.run_id, r.started_at
from cairn.run r
where r.status in ('done', 'failed', 'aborted') and r.updated_at < $1::bigint
  and (r.started_at, r.run_id) > ($2::bigint, $3::uuid)
  and not exists (select from cairn.run p where p.shard = r.shard and p.run_id = r.parent)
order by r.started_at, r.run_id
limit $4::int
