-- Done with: values that are gone, and those ($2) to which another run refers.
delete from cairn.erasing x
where x.shard = $1::int
  and (x.hash = any($2::bytea[])
       or not exists (select from cairn.blob b where b.shard = x.shard and b.hash = x.hash))
