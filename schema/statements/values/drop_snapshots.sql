-- The snapshots of runs that end or go.
delete from cairn.snapshot s using unnest($2::uuid[]) as u (run_id)
where s.shard = $1::int and s.run_id = u.run_id
