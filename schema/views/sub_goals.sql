-- Sub-goals with what became of them. `status`: open, succeeded, failed, skipped, rejected; `duration` is that of the
-- last attempt, null where none was made.
create or replace view cairn.sub_goals as
with closed as (
  select distinct on (c.shard, c.run_id, c.payload ->> 'sub_goal')
         c.shard, c.run_id, c.payload ->> 'sub_goal' as sub_goal, c.at, c.payload
  from cairn.events c
  where c.type = 'sub_goal_closed'
  order by c.shard, c.run_id, c.payload ->> 'sub_goal', c.seq desc
)
select o.shard, o.run_id, o.seq, o.payload ->> 'sub_goal' as sub_goal, o.payload ->> 'tool' as tool,
       o.payload ->> 'title' as title, o.payload ->> 'parent' as parent, o.at as opened_at, c.at as closed_at,
       coalesce(c.payload ->> 'status', 'open') as status, c.payload -> 'outputs' as outputs,
       c.payload ->> 'error' as error, c.payload ->> 'message' as message, (c.payload ->> 'attempt')::int as attempts,
       case when (c.payload ->> 'started_at')::bigint > 0
            then c.at - to_timestamp((c.payload ->> 'started_at')::bigint / 1000000.0) end as duration
from cairn.events o
left join closed c on c.shard = o.shard and c.run_id = o.run_id and c.sub_goal = o.payload ->> 'sub_goal'
where o.type = 'sub_goal_opened'
union all
select r.shard, r.run_id, r.seq, r.payload ->> 'sub_goal', r.payload ->> 'tool', null, null, r.at, r.at, 'rejected',
       null, 'rejected', r.payload ->> 'reason', null, null
from cairn.events r
where r.type = 'sub_goal_rejected'
