-- The next $3 runs of a shard after run $2: those that stand still, by the filter and since $4 but not since $5, and
-- the last one that was looked at, which shows how far the search is.
select p.run_id, p.head, p.stands, p.looked_at
from (
  select r.run_id, r.head, count(*) over () as looked_at,
    row_number() over (order by r.run_id) as nth,
    r.status = 'running' and r.updated_at <= $4::bigint and r.updated_at > $5::bigint
      and ($6::text is null or r.graph = $6::text) and ($7::text = '{}' or r.tags @> $7::text::jsonb) as stands
  from (
    select s.run_id, s.head, s.status, s.updated_at, s.graph, s.tags
    from cairn.run s
    where s.shard = $1::int and s.run_id > $2::uuid
    order by s.shard, s.run_id
    limit $3::int
  ) r
) p
where p.stands or p.nth = p.looked_at
order by p.run_id
