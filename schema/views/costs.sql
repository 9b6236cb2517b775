-- The cost of model calls by graph and node, or by tool for sub-goals.
create or replace view cairn.costs as
select graph, node, tool, count(distinct run_id) as runs, count(*) as calls, count(*) filter (where not ok) as failed,
       sum(tokens_in) as tokens_in, sum(tokens_out) as tokens_out, sum(cost) as cost
from cairn.model_calls
group by graph, node, tool
