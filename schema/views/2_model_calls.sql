-- Calls of language models, with the node, or the sub-goal's tool, whose step made them. A fact may come from anywhere:
-- a number counts from 0 to 10^15, what is no number counts as 0, and an `ok` that is neither true nor false is null.
create or replace view cairn.model_calls as
with ended as (
  select distinct shard, run_id, step, node, tool from cairn.steps
),
called as (
  select e.*,
         case jsonb_typeof(e.payload -> 'tokens_in') when 'number'
              then least(greatest((e.payload ->> 'tokens_in')::numeric, 0), 1e15) else 0 end as tokens_in,
         case jsonb_typeof(e.payload -> 'tokens_out') when 'number'
              then least(greatest((e.payload ->> 'tokens_out')::numeric, 0), 1e15) else 0 end as tokens_out,
         case jsonb_typeof(e.payload -> 'cost') when 'number'
              then least(greatest((e.payload ->> 'cost')::numeric, 0), 1e15) else 0 end as cost,
         case jsonb_typeof(e.payload -> 'latency_ms') when 'number'
              then least(greatest((e.payload ->> 'latency_ms')::numeric, 0), 1e15) else 0 end as latency_ms
  from cairn.events e
  where e.type = 'model_called'
)
select e.shard, e.run_id, e.seq, e.at, e.step, r.graph, s.node, s.tool, e.payload ->> 'model' as model,
       trunc(e.tokens_in)::bigint as tokens_in, trunc(e.tokens_out)::bigint as tokens_out, e.cost,
       e.latency_ms * interval '1 millisecond' as latency,
       case when e.payload ->> 'ok' in ('true', 'false') then (e.payload ->> 'ok')::boolean end as ok
from called e
join cairn.run r on r.shard = e.shard and r.run_id = e.run_id
left join ended s on s.shard = e.shard and s.run_id = e.run_id and s.step = e.step
