-- The runs that open runs continue or were forked from.
select continues from cairn.run where status in ('running', 'paused') and continues is not null
union
select (e.payload::jsonb -> 'forked_from' ->> 'run')::uuid
from cairn.run r
join cairn.event e on e.shard = r.shard and e.run_id = r.run_id and e.seq = 1
where r.status in ('running', 'paused') and e.payload like '%"forked_from"%'
  and position('\u0000' in e.payload) = 0 and e.payload::jsonb ? 'forked_from'
