-- Up to $2.
select count(*) from (
  select from cairn.hook_delivery d where d.hook = $1::text and d.status = 'waiting' limit $2::int
) waiting
