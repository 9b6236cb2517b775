-- As in lock_runs.sql, the limit is there for the planner.
select u.place, r.head, r.chain_hash, r.status
from (select * from unnest($2::uuid[]) with ordinality as n (run_id, place) limit cardinality($2)) u
join cairn.run r on r.shard = $1::int and r.run_id = u.run_id
