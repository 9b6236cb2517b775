-- After lock_queues: whose turn it is in a queue with keys in this shard. $1 shard, $2 queue.
select t.key, t.served
from cairn.key_turn t
where t.shard = $1::int and t.queue = $2::text
