-- After put_limits, with which the queue is paused: what it had before the change. $1 name, $2 revision,
-- $3 concurrency, $4 paused, $5 limits, $6 now.
update cairn.queue q
set change_began = $6::bigint, before_revision = $2::bigint, before_concurrency = $3::int,
    before_paused = $4::boolean or $5::text is not null, before_limits = $5::text
where q.name = $1::text
