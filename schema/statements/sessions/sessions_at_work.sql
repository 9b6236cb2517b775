-- Worker sessions with a heartbeat within the last $1 ms. The columns are read by way of jsonb, because a schema of an
-- older version may lack them: then the session is none.
select w.session, w.host, w.pid, coalesce(to_jsonb(w)->>'machine', '')
from cairn.worker w
where (to_jsonb(w)->>'beat_at')::bigint
      > (extract(epoch from clock_timestamp()) * 1000000)::bigint - $1::bigint * 1000
order by w.started_at, w.session
