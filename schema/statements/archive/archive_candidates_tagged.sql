-- As archive_candidates.sql, all runs that have the tags $2: found by their index, as runs_tagged.sql.
with tagged as materialized (
  select r.shard, r.run_id, r.started_at, r.parent
  from cairn.run r
  where r.tags @> $2::text::jsonb and r.tags <> '{}'
    and r.status in ('done', 'failed', 'aborted') and r.updated_at < $1::bigint
)
select r.run_id, r.started_at
from tagged r
where not exists (select from cairn.run p where p.shard = r.shard and p.run_id = r.parent)
order by r.started_at, r.run_id
