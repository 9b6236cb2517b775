insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload)
select $1::int, u.run_id, u.seq, u.at, $2::bigint, u.type, u.version, u.step, u.chain_hash, u.actor, u.payload
from unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::smallint[], $7::smallint[], $8::int[], $9::bytea[], $10::text[],
            $11::text[]) as u (run_id, seq, at, type, version, step, chain_hash, actor, payload)
