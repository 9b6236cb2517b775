-- First lock of every writer: run rows in order of their ids.
select u.place, r.head, r.chain_hash, r.status
from unnest($2::uuid[]) with ordinality as u (run_id, place)
join cairn.run r on r.shard = $1::int and r.run_id = u.run_id
order by r.run_id
for no key update of r
