-- The events of a shard after event $3 of run $2, in the order of runs and events: of the next $4, those up to $5 bytes
-- of payloads and the event that reaches them; `found` counts those beyond, too.
select c.seq, c.at, c.type, c.version, c.step, c.actor, c.payload, c.commit, c.chain_hash, c.run_id, r.graph,
  r.tags::text as tags, c.found
from (
  select e.*, count(*) over () as found,
         sum(octet_length(e.payload)) over (order by e.run_id, e.seq) - octet_length(e.payload) as bytes_before
  from (
    select e.shard, e.run_id, e.seq, e.at, e.type, e.version, e.step, e.actor, e.payload, e.commit, e.chain_hash
    from cairn.event e
    where e.shard = $1::int and (e.run_id, e.seq) > ($2::uuid, $3::bigint)
    order by e.shard, e.run_id, e.seq
    limit $4::int
  ) e
) c
left join cairn.run r on r.shard = any (array[c.shard]) and r.run_id = c.run_id
where c.bytes_before < $5::bigint
order by c.run_id, c.seq
