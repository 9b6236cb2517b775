-- The chain hash of each of these events, null if there is no such event; and its run's head, null if there is no run.
select u.place, e.chain_hash, r.head
from unnest($1::int[], $2::uuid[], $3::bigint[]) with ordinality as u (shard, run_id, seq, place)
left join cairn.event e on e.shard = any (array[u.shard]) and e.run_id = u.run_id and e.seq = u.seq
left join cairn.run r on r.shard = any (array[u.shard]) and r.run_id = u.run_id
