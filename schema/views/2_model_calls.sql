-- Calls of language models, with the node, or the sub-goal's tool, whose step made them.
create or replace view cairn.model_calls as
with ended as (
  select distinct shard, run_id, step, node, tool from cairn.steps
)
select e.shard, e.run_id, e.seq, e.at, e.step, r.graph, s.node, s.tool, e.payload ->> 'model' as model,
       coalesce((e.payload ->> 'tokens_in')::bigint, 0) as tokens_in,
       coalesce((e.payload ->> 'tokens_out')::bigint, 0) as tokens_out,
       coalesce((e.payload ->> 'cost')::numeric, 0) as cost,
       coalesce((e.payload ->> 'latency_ms')::numeric, 0) * interval '1 millisecond' as latency,
       (e.payload ->> 'ok')::boolean as ok
from cairn.events e
join cairn.run r on r.shard = e.shard and r.run_id = e.run_id
left join ended s on s.shard = e.shard and s.run_id = e.run_id and s.step = e.step
where e.type = 'model_called'
