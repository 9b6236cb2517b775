-- The runs of these that were archived, and where, or erased, and by whom.
-- (offset 0: as in lock_runs.sql.)
select u.place, t.at, t.file, t.file_digest, t.erased_by
from (select $1::int as shard, n.* from unnest($2::uuid[]) with ordinality as n (run_id, place) offset 0) u
join cairn.tombstone t on t.shard = any (array[u.shard]) and t.run_id = u.run_id
