-- Runs inserted earlier in this transaction whose linked entries were refused.
delete from cairn.run r using unnest($2::uuid[]) as u (run_id) where r.shard = $1::int and r.run_id = u.run_id
