-- As budget_uses.sql, of each budget of a queue's keys those that used most in the window that is now, all shards of
-- this database together. $1 queue, $2 limit, $3 now.
select u.queue, u.key, u.unit, u.per, u.since, u.used
from (
  select b.queue, b.key, b.unit, b.per, b.since, sum(b.used)::bigint as used,
         row_number() over (partition by b.unit, b.per order by sum(b.used) desc, b.key) as place
  from cairn.budget_use b
  where b.queue = $1::text and b.key <> ''
    and b.since >= (extract(epoch from date_trunc(b.per, timestamp '1970-01-01'
                                                         + $3::bigint * interval '1 microsecond')) * 1000000)::bigint
    and b.since <= $3::bigint + 86400000000
  group by b.queue, b.key, b.unit, b.per, b.since
) u
where u.place <= $2::int
