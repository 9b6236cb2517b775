-- After update_runs and before the jobs are written: what steps used is counted to the budgets of the queues in which
-- they are held. Every writer of these rows holds the run's row by then, and locks them in the order of their names.
-- A window that begins more than a day from now was counted by a clock that was ahead, and is begun again.
-- $1 shard, $2 runs, $3 branches, $4 tokens, $5 cost in millionths.
insert into cairn.budget_use as b (shard, queue, key, unit, per, since, used)
select $1::int, c.queue, c.key, c.unit, c.per,
       (extract(epoch from date_trunc(c.per, clock_timestamp() at time zone 'UTC')) * 1000000)::bigint, sum(c.used)
from (
  select q.name as queue,
         case when l.each then '=' || coalesce((
-- part limit_key
         ), '') else '' end as key,
         l.unit, l.per,
         case l.unit when 'tokens' then u.tokens else u.cost end as used
  from (select $1::int as shard, n.*
        from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[]) as n (run_id, branch, tokens, cost)
        offset 0) u
  join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
  cross join lateral (select j.run_id as run_id, j.queue as queue) k
  join cairn.queue q on q.name = j.queue
  cross join lateral jsonb_to_recordset(q.limits::jsonb -> 'budgets') as l (unit text, per text, each boolean)
) c
where c.used > 0
group by c.queue, c.key, c.unit, c.per
order by c.queue, c.key, c.unit, c.per
on conflict (queue, key, unit, per, shard) do update
set used = least(case when b.since >= excluded.since
                           and b.since <= extract(epoch from clock_timestamp()) * 1000000 + 86400000000
                      then b.used + excluded.used else excluded.used end,
                 1000000000000000),
    since = case when b.since <= extract(epoch from clock_timestamp()) * 1000000 + 86400000000
                 then greatest(b.since, excluded.since) else excluded.since end
