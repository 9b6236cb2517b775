delete from cairn.feed_place p where p.consumer = $1::text
