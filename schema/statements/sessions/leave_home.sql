-- Its free jobs are offered by the next scan of what is held.
delete from cairn.home where shard = $1::int and run_id = $2::uuid and session = $3::bigint
