-- Moves a consumer's places, each only if it is still the one that was read: behind another one rows may be gone. Not
-- those of another consumer that was added by the same name meanwhile. And each only if the row that it moves to is the
-- one that was checked: the database may have gone back since.
-- Returns the shards of those that were moved.
-- (offset 0 and the array: as in lock_runs.sql.)
update cairn.feed_place p
set position = u.position, skip = u.skip, moved_at = $2::bigint, history_run = u.history_run,
    history_seq = u.history_seq
from (
  select n.*
  from unnest($3::int[], $4::bigint[], $5::bigint[], $6::uuid[], $7::bigint[],
              $8::bigint[], $9::bigint[], $10::uuid[], $11::bigint[], $13::text[])
       as n (shard, position, skip, history_run, history_seq, old_position, old_skip, old_run, old_seq, mark)
  offset 0
) u
where p.shard = any (array[u.shard]) and p.consumer = $1::text
      and p.position = u.old_position and p.skip = u.old_skip
      and p.history_run is not distinct from u.old_run and p.history_seq is not distinct from u.old_seq
      and (u.mark is null or u.mark = (
        select
-- part feed_mark
        from cairn.feed f
        where f.shard = p.shard and f.position = u.position + (u.skip > 0)::int))
      and exists (select from cairn.feed_consumer c where c.name = $1::text and c.id = $12::text)
returning p.shard
