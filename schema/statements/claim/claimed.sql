-- (offset 0: as in lock_runs.sql.)
-- After a claim: the heads of its runs, and all events of runs with at most $3 of them. A head is no older than the
-- claimed job, because this statement has a later snapshot. $1 shard, $2 runs.
select e.seq, e.at, e.type, e.version, e.step, e.actor, e.payload, e.commit, e.chain_hash, c.run_id, r.head
from (select $1::int as shard, n.* from unnest($2::uuid[]) as n (run_id) offset 0) c
join cairn.run r on r.shard = any (array[c.shard]) and r.run_id = c.run_id
left join lateral (
  select e.seq, e.at, e.type, e.version, e.step, e.actor, e.payload, e.commit, e.chain_hash
  from cairn.event e
  where e.shard = r.shard and e.run_id = r.run_id and r.head <= $3::bigint
  order by e.shard, e.run_id, e.seq
) e on true
