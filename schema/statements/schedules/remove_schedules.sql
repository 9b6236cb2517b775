delete from cairn.schedule where name = any($1::text[])
