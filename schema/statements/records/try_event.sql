-- An event of no run, for a transaction that is rolled back: whether the database has time for an event.
insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload)
values ($1::int, '00000000-0000-4000-8000-000000000000', 1, 0, 0, 0, 0, 0, '', '', '')
