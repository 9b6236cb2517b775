-- As archive_candidates.sql, of the graph $1: found by run_graph, so that the cost depends on the runs of the page and
-- on those before it that may not go yet. A run that came back by an import is due as if it had ended then. (Bounds as
-- in runs_of_graph.sql.)
select r.run_id, r.started_at
from cairn.run r
where (r.graph, r.started_at, r.run_id) > ($1::text, $3::bigint, $4::uuid)
  and (r.graph, r.started_at) < ($1::text, $2::bigint)
  and r.status in ('done', 'failed', 'aborted') and r.updated_at < $2::bigint
  and not exists (select from cairn.run p where p.shard = r.shard and p.run_id = r.parent)
  and not exists (select from cairn.import i where i.shard = r.shard and i.run_id = r.run_id and i.at >= $2::bigint)
order by r.graph, r.started_at, r.run_id
limit $5::int
