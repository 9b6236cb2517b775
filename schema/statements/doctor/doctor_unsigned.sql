-- The time of the oldest commit after $1 among the runs started last; null: there is none.
select min(case when r.started_at > $1::bigint then r.started_at else r.updated_at end)
from (select started_at, updated_at from cairn.run order by started_at desc, run_id desc limit 1000) r
where r.updated_at > $1::bigint
