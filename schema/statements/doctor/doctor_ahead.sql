-- Jobs of runs whose last event is more than a minute later than the clock: they were written while it was ahead.
select count(*), coalesce(max(r.updated_at) - (extract(epoch from clock_timestamp()) * 1000000)::bigint, 0) / 1000000
from cairn.job j
join cairn.run r on r.shard = j.shard and r.run_id = j.run_id
where r.updated_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint + 60000000
