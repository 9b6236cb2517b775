-- As insert_events.sql, but each event with the commit that it had. While the feed has a consumer, a row of it says
-- what was added.
with made as (
insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload)
select $1::int, $2::uuid, u.seq, u.at, u.commit, u.type, u.version, u.step, u.chain_hash, u.actor, u.payload
from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::smallint[], $7::smallint[], $8::int[], $9::bytea[],
            $10::text[], $11::text[]) as u (seq, at, commit, type, version, step, chain_hash, actor, payload)
returning seq
)
insert into cairn.feed as f (shard, lsn, at, run_id, runs, firsts, lasts)
select $1::int, pg_current_wal_insert_lsn(), (extract(epoch from clock_timestamp()) * 1000000)::bigint,
       $2::uuid, array[$2::uuid], array[min(m.seq)], array[max(m.seq)]
from made m
having count(*) > 0 and exists (select from cairn.feed_consumer)
