-- (offset 0: as in lock_runs.sql.)
-- As events_of_runs.sql, and of each run no more than so many bytes: what is over is read in pieces.
select e.seq, e.at, e.type, e.version, e.step, e.actor, e.payload, e.commit, e.chain_hash, u.place
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::bigint[]) with ordinality as n (run_id, after_seq, place) offset 0) u
cross join lateral (
  select e.seq, e.at, e.type, e.version, e.step, e.actor, e.payload, e.commit, e.chain_hash,
         sum(octet_length(e.payload)) over (order by e.shard, e.run_id, e.seq rows unbounded preceding) as bytes
  from cairn.event e
  where e.shard = u.shard and e.run_id = u.run_id and e.seq > u.after_seq
  order by e.shard, e.run_id, e.seq
  limit $4::int
) e
where e.bytes <= $5::bigint
