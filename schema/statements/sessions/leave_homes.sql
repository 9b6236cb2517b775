-- All homes of a session that ends.
delete from cairn.home where session = $1::bigint
