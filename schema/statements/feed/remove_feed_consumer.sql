delete from cairn.feed_consumer where name = $1::text returning id
