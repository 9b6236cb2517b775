-- The events of parts of runs, in the order of the parts, up to $5 bytes of payloads and the event that reaches them;
-- `found` counts those beyond, too.
-- (offset 0: as in lock_runs.sql.)
select c.seq, c.at, c.type, c.version, c.step, c.actor, c.payload, c.commit, c.chain_hash, c.run_id, c.graph, c.tags,
  c.found, c.place
from (
  select e.*, r.graph, r.tags::text as tags, u.place, count(*) over () as found,
         sum(octet_length(e.payload)) over (order by u.place, e.seq) - octet_length(e.payload) as bytes_before
  from (select $1::int as shard, n.*
        from unnest($2::uuid[], $3::bigint[], $4::bigint[]) with ordinality as n (run_id, first, last, place)
        offset 0) u
  join cairn.run r on r.shard = any (array[u.shard]) and r.run_id = u.run_id
  cross join lateral (
    select e.run_id, e.seq, e.at, e.type, e.version, e.step, e.actor, e.payload, e.commit, e.chain_hash
    from cairn.event e
    where e.shard = u.shard and e.run_id = u.run_id and e.seq between u.first and u.last
    order by e.shard, e.run_id, e.seq
    offset 0
  ) e
) c
where c.bytes_before < $5::bigint
order by c.place, c.seq
