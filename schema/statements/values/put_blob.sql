-- Renews put_at of a value that is there, so that no `cairn erase` removes it before the event that refers to it is
-- committed; at most once a minute.
insert into cairn.blob as b (shard, hash, bytes) values ($1::int, $2::bytea, $3::bytea)
on conflict (shard, hash) do update set put_at = excluded.put_at where b.put_at < excluded.put_at - 60000000
