select queue,
       count(*) filter (where session is null and run_at <= $1::bigint),
       count(*) filter (where session is null and run_at > $1::bigint),
       count(*) filter (where session is not null),
       min(run_at) filter (where session is null and run_at <= $1::bigint)
from cairn.job
group by queue
order by queue
