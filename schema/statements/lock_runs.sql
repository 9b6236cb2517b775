-- First lock of every writer: run rows in order of their ids.
-- (offset 0 hides from the planner that the shard is one: else a plan made when the table was empty would lead with the
-- table, and read all runs of the shard for every batch.)
select u.place, r.head, r.chain_hash, r.status
from (select $1::int as shard, n.* from unnest($2::uuid[]) with ordinality as n (run_id, place) offset 0) u
join cairn.run r on r.shard = u.shard and r.run_id = u.run_id
order by r.run_id
for no key update of r
