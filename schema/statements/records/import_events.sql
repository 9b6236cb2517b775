-- As insert_events.sql, but each event with the commit that it had.
insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload)
select $1::int, $2::uuid, u.seq, u.at, u.commit, u.type, u.version, u.step, u.chain_hash, u.actor, u.payload
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::smallint[], $7::smallint[], $8::int[], $9::bytea[],
            $10::text[], $11::text[]) as u (seq, at, commit, type, version, step, chain_hash, actor, payload)
