-- Sent after insert_runs.sql, as a statement of its own: it sees what an archive removed while that one waited for it.
-- Fails (22012) if a run that was archived has this id.
-- (offset 0: as in lock_runs.sql.)
select 1 / (not exists (
  select from (select $1::int as shard, n.* from unnest($2::uuid[]) as n (run_id) offset 0) u
  join cairn.tombstone t on t.shard = any (array[u.shard]) and t.run_id = u.run_id))::int
