-- Every attempt of a step that an end was recorded for. `node` is null for a sub-goal's step, which has a `tool`;
-- `duration` is null where no worker was needed.
create or replace view cairn.steps as
select e.shard, e.run_id, e.seq, e.at, e.step, r.graph, e.payload ->> 'node' as node,
       o.payload ->> 'tool' as tool, e.payload ->> 'label' as label, (e.payload ->> 'attempt')::int as attempt,
       (e.payload ->> 'worker')::bigint as worker,
       coalesce(e.payload ->> 'status', case e.type when 'step_succeeded' then 'succeeded' else 'failed' end) as status,
       e.payload ->> 'error' as error, e.payload ->> 'message' as message,
       case when (e.payload ->> 'started_at')::bigint > 0
            then e.at - to_timestamp((e.payload ->> 'started_at')::bigint / 1000000.0) end as duration
from cairn.events e
join cairn.run r on r.shard = e.shard and r.run_id = e.run_id
left join cairn.events o on e.type = 'sub_goal_closed' and o.type = 'sub_goal_opened' and o.shard = e.shard
                            and o.run_id = e.run_id and o.payload ->> 'sub_goal' = e.payload ->> 'sub_goal'
where e.type in ('step_succeeded', 'step_failed', 'sub_goal_closed')
