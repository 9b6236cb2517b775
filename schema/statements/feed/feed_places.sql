select p.shard, p.position, p.skip, p.history_run, p.history_seq
from cairn.feed_place p
where p.consumer = $1::text
