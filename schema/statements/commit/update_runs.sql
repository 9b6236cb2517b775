-- (offset 0: as in lock_runs.sql.)
-- Runs that are at the expected head: optimistic concurrency. In the order of their ids, which is the order of locks.
-- Unless that is true of $13 runs, selects 1 / 0 and so fails (22012) with the whole transaction.
-- While the feed has a consumer, a row of it says what was added.
with moved as (
  update cairn.run r
  set head = u.head, chain_hash = u.chain_hash, status = u.status, waiting = u.waiting, updated_at = u.updated_at,
      version = u.version, reason = u.reason, caller_knows = u.caller_knows,
      open_child_of = case when u.status in ('running', 'paused') then r.parent end
  from (select $1::int as shard, n.*
        from unnest($2::uuid[], $3::bigint[], $4::bytea[], $5::text[], $6::boolean[], $7::bigint[], $8::text[],
                    $9::text[], $10::bigint[], $11::bytea[], $12::boolean[])
             as n (run_id, head, chain_hash, status, waiting, updated_at, version, reason, head_before, chain_before,
                   caller_knows)
        offset 0) u
  where r.shard = any (array[u.shard]) and r.run_id = u.run_id
        and r.head = u.head_before and r.chain_hash = u.chain_before
  returning r.run_id, u.head_before + 1 as first, u.head as last
), fed as (
  insert into cairn.feed as f (shard, lsn, at, run_id, runs, firsts, lasts)
  select $1::int, pg_current_wal_insert_lsn(), (extract(epoch from clock_timestamp()) * 1000000)::bigint,
         (array_agg(m.run_id))[1], array_agg(m.run_id), array_agg(m.first), array_agg(m.last)
  from moved m
  having count(*) > 0 and exists (select from cairn.feed_consumer)
)
select 1 / (count(*) = $13::bigint)::int from moved
