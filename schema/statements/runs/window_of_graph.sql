-- As window_of_runs.sql, of the graph $5, in the form of runs_of_graph.sql.
select r.started_at
from cairn.run r
where (r.graph, r.started_at) >= ($5::text, $3::bigint)
  and (r.graph, r.started_at, r.run_id) < ($5::text, $1::bigint, $2::uuid)
order by r.graph desc, r.started_at desc, r.run_id desc
offset $4::int - 1
limit 1
