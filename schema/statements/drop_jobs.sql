delete from cairn.job j using unnest($2::uuid[], $3::int[]) as u (run_id, branch)
where j.shard = $1::int and j.run_id = u.run_id and j.branch = u.branch
