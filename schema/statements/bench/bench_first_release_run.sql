-- A run of the first release for the benchmark's own databases, in a schema of any version: $1 its id, $2 its events,
-- $3 whether it is open, with a job. Its chain of hashes is none.
with events as (
  insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload)
  select 0, $1::uuid, n, n, n, 8, 1, n::int, sha256(int8send(n)), 'bench', '{"output":"' || repeat('x', 280) || '"}'
  from generate_series(1, $2::bigint) n
), jobs as (
  insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, timeout_ms, queue)
  select 0, $1::uuid, 1, 1, 1, 0, 0, 1, 9223372036854775807, 0, 'default'
  where $3::boolean
)
insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, chain_hash, status, graph, version, reason,
                       tags)
select 0, $1::uuid, false, $2::bigint, 1, 1, sha256('x'), case when $3::boolean then 'running' else 'done' end, 'bench',
       'none', '', '{}'
