insert into cairn.feed_place (shard, consumer, position, skip, moved_at, history_run, history_seq)
select u.shard, $1::text, u.position, u.skip, $2::bigint, u.history_run, u.history_seq
from unnest($3::int[], $4::bigint[], $5::bigint[], $6::uuid[], $7::bigint[])
     as u (shard, position, skip, history_run, history_seq)
on conflict (shard, consumer) do update
set position = excluded.position, skip = excluded.skip, moved_at = excluded.moved_at,
    history_run = excluded.history_run, history_seq = excluded.history_seq
