select c.name, c.id, c.graph, c.tags, c.types, c.created_at, c.created_by
from cairn.feed_consumer c
where c.name = $1::text
