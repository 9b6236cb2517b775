-- The first start of each key that waits for its turn, and the number of the last one that is kept, refused or not.
select asked.graph, asked.key, first.number, first.run_id,
  coalesce((select max(w.number) from cairn.waiting_start w where w.graph = asked.graph and w.key = asked.key), 0)
    as last
from unnest($1::text[], $2::text[]) as asked (graph, key)
  left join lateral (
    select w.number, w.run_id
    from cairn.waiting_start w
    where w.graph = asked.graph and w.key = asked.key and w.refusal is null
    order by w.number
    limit 1
  ) first on true
