-- The places of a consumer that is being added; nothing if it was removed meanwhile, even if another one has its name.
insert into cairn.feed_place (shard, consumer, position, skip, moved_at, history_run, history_seq)
select u.shard, $1::text, u.position, u.skip, $2::bigint, u.history_run, u.history_seq
from unnest($3::int[], $4::bigint[], $5::bigint[], $6::uuid[], $7::bigint[])
     as u (shard, position, skip, history_run, history_seq)
where exists (select from cairn.feed_consumer c where c.name = $1::text and c.id = $8::text)
on conflict (shard, consumer) do update
set position = excluded.position, skip = excluded.skip, moved_at = excluded.moved_at,
    history_run = excluded.history_run, history_seq = excluded.history_seq
