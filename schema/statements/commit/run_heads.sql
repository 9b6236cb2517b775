-- (offset 0: as in lock_runs.sql.)
select u.place, r.head, r.chain_hash, r.status
from (select $1::int as shard, n.* from unnest($2::uuid[]) with ordinality as n (run_id, place) offset 0) u
join cairn.run r on r.shard = any (array[u.shard]) and r.run_id = u.run_id
