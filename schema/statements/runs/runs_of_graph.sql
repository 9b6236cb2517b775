-- As runs.sql, found by the graph $1. The bounds are rows, and the order begins with the graph, so that only run_graph
-- gives it: with `graph = $1` the planner would take run_started_at for a graph that many runs have, and then walk all
-- runs for one that few have.
-- part run_columns
from cairn.run r
-- part run_cause
-- part run_filter
  and (r.graph, r.started_at) >= ($1::text, $4::bigint)
  and (r.graph, r.started_at, r.run_id) < ($1::text, $6::bigint, $7::uuid)
order by r.graph desc, r.started_at desc, r.run_id desc
limit $5::int
