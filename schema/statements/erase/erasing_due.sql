-- Those of the noted values that nothing has put since $2, or that are gone.
select x.hash
from cairn.erasing x
where x.shard = $1::int
  and not exists (select from cairn.blob b where b.shard = x.shard and b.hash = x.hash and b.put_at >= $2::bigint)
order by x.hash
