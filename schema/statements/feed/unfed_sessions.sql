-- Sessions at work within the last $1 ms whose commits leave no row in the feed.
select w.session, w.host, w.pid
from cairn.worker w
where not w.feeds
      and w.beat_at > (extract(epoch from clock_timestamp()) * 1000000)::bigint - $1::bigint * 1000
order by w.started_at, w.session
