select f.position, f.runs, f.firsts, f.lasts,
-- part feed_mark
  as mark
from cairn.feed f
where f.shard = $1::int and f.position >= $2::bigint
order by f.shard, f.position
limit $3::int
