-- After a COMMIT whose answer was lost: the places of the events that are ours.
select u.place
from unnest($2::uuid[], $3::bigint[], $4::bytea[]) with ordinality as u (run_id, seq, chain_hash, place)
join cairn.event e on e.shard = $1::int and e.run_id = u.run_id and e.seq = u.seq and e.chain_hash = u.chain_hash
