-- Not those of a consumer that was added by the same name meanwhile.
delete from cairn.feed_place p
where p.consumer = $1::text and not exists (select from cairn.feed_consumer c where c.name = $1::text)
