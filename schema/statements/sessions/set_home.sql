insert into cairn.home (shard, run_id, session, queues)
select $1::int, $2::uuid, w.session, w.queues from cairn.worker w where w.session = $3::bigint
on conflict (shard, run_id) do update set session = excluded.session, queues = excluded.queues
