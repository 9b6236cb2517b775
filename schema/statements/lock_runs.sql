-- First lock of every writer: run rows in order of their ids.
-- (The limit is no limit: it tells the planner that few rows come, so that they lead and the key is looked up for each,
-- even by a plan made when the table was empty.)
select u.place, r.head, r.chain_hash, r.status
from (select * from unnest($2::uuid[]) with ordinality as n (run_id, place) limit cardinality($2)) u
join cairn.run r on r.shard = $1::int and r.run_id = u.run_id
order by r.run_id
for no key update of r
