-- True if jobs of a queue with keys that are due wait in a shard, of other keys than $3 (null: of any). In the order of
-- keys: as in waiting_keys.sql. $1 shard, $2 queue, $4 now.
select coalesce(
  (select true from cairn.job j
   where j.shard = $1::int and j.queue = $2::text and j.limit_key >= '' and j.limit_key < $3::text and j.offered
     and j.session is null and j.run_at <= $4::bigint
   order by j.limit_key limit 1),
  (select true from cairn.job j
   where j.shard = $1::int and j.queue = $2::text and j.limit_key > $3::text and j.offered
     and j.session is null and j.run_at <= $4::bigint
   order by j.limit_key limit 1),
  (select true from cairn.job j
   where $3::text is null and j.shard = $1::int and j.queue = $2::text and j.limit_key >= '' and j.offered
     and j.session is null and j.run_at <= $4::bigint
   order by j.limit_key limit 1),
  false) as others_wait
