delete from cairn.question q using unnest($2::uuid[], $3::text[]) as u (run_id, id)
where q.shard = $1::int and q.run_id = u.run_id and q.id = u.id
