-- A worker of an earlier release, which does not know the column `limits`, finds a queue that has some paused. No
-- change of it is under way any more.
-- $1 name, $2 revision, $3 concurrency, $4 paused, $5 limits.
insert into cairn.queue (name, revision, concurrency, paused, limits)
values ($1::text, $2::bigint, $3::int, $4::boolean or $5::text is not null, $5::text)
on conflict (name) do update
set revision = excluded.revision, concurrency = excluded.concurrency, paused = excluded.paused,
    limits = excluded.limits, change_began = null, before_revision = null, before_concurrency = null,
    before_paused = null, before_limits = null
