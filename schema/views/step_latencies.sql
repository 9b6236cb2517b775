-- The durations of attempts by graph and node, or by tool for sub-goals.
create or replace view cairn.step_latencies as
select graph, node, tool, count(*) as attempts, count(*) filter (where status = 'failed') as failed,
       percentile_cont(0.5) within group (order by duration) as p50,
       percentile_cont(0.9) within group (order by duration) as p90,
       percentile_cont(0.99) within group (order by duration) as p99,
       max(duration) as longest
from cairn.steps
where duration is not null
group by graph, node, tool
