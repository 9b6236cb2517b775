-- New runs as they are after their first commit. A run that exists already is left out; unless $18 runs (null: any
-- number) were inserted, selects 1 / 0 and so fails (22012) with the whole transaction. One that another transaction is
-- about to insert is waited for.
-- While the feed has a consumer, a row of it says what was added.
with made as (
insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, parent, continues, open_child_of,
  chain_hash, status, graph, version, reason, tags, origin, origin_seq, caller_knows)
select $1::int, u.run_id, u.waiting, u.head, u.started_at, u.updated_at, u.parent, u.continues,
       case when u.status in ('running', 'paused') then u.parent end, u.chain_hash, u.status, u.graph, u.version,
       u.reason, u.tags::jsonb, u.origin, u.origin_seq, u.caller_knows
from unnest($2::uuid[], $3::boolean[], $4::bigint[], $5::bigint[], $6::bigint[], $7::uuid[], $8::uuid[], $9::bytea[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::uuid[], $16::bigint[],
            $17::boolean[])
     as u (run_id, waiting, head, started_at, updated_at, parent, continues, chain_hash, status, graph, version, reason,
           tags, origin, origin_seq, caller_knows)
on conflict (shard, run_id) do nothing
returning run_id, head
), fed as (
  insert into cairn.feed as f (shard, lsn, at, run_id, runs, firsts, lasts)
  select $1::int, pg_current_wal_insert_lsn(), (extract(epoch from clock_timestamp()) * 1000000)::bigint,
         (array_agg(m.run_id))[1], array_agg(m.run_id), array_agg(1::bigint), array_agg(m.head)
  from made m
  having count(*) > 0 and exists (select from cairn.feed_consumer)
)
select array_agg(run_id), 1 / ($18::bigint is null or count(*) = $18::bigint)::int from made
