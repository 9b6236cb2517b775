-- Keys that are to be looked at more than $1 from now are looked at now: the clock was ahead when that was decided, or
-- a group collects for so long, which stays as it is.
update cairn.start_key k
set look_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
from (
  select f.graph, f.key
  from cairn.start_key f
  where f.look_at > (extract(epoch from statement_timestamp()) * 1000000)::bigint + $1::bigint
    and f.look_at < 9223372036854775807
  order by f.look_at, f.graph, f.key
  for update skip locked
) far
where k.graph = far.graph and k.key = far.key
