-- First lock of every writer: run rows in order of their ids.
-- (Two things keep the planner from starting with the table, whatever size it takes it for. offset 0 hides that the
-- shard is a single one: a plan made when the table was empty read all runs of the shard for every batch. And with the
-- array around the shard the rows of an index have no order that a merge join could use; otherwise it would read the
-- whole index for that order: in a table of dead rows a batch of 10,000 took 35 s.)
select u.place, r.head, r.chain_hash, r.status
from (select $1::int as shard, n.* from unnest($2::uuid[]) with ordinality as n (run_id, place) offset 0) u
join cairn.run r on r.shard = any (array[u.shard]) and r.run_id = u.run_id
order by r.run_id
for no key update of r
