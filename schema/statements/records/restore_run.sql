-- The run's row as its events say, whatever it was before.
insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, parent, continues, open_child_of,
  chain_hash, status, graph, version, reason, tags, origin, origin_seq)
values ($1::int, $2::uuid, $3::boolean, $4::bigint, $5::bigint, $6::bigint, $7::uuid, $8::uuid,
        case when $10::text in ('running', 'paused') then $7::uuid end, $9::bytea, $10::text, $11::text, $12::text,
        $13::text, $14::text::jsonb, $15::uuid, $16::bigint)
on conflict (shard, run_id) do update
set waiting = excluded.waiting, head = excluded.head, started_at = excluded.started_at,
    updated_at = excluded.updated_at, parent = excluded.parent, continues = excluded.continues,
    open_child_of = excluded.open_child_of, chain_hash = excluded.chain_hash, status = excluded.status,
    graph = excluded.graph, version = excluded.version, reason = excluded.reason, tags = excluded.tags,
    origin = excluded.origin, origin_seq = excluded.origin_seq
