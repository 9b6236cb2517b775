-- Rows of a run that has neither an event nor a row of its own. In one statement, because the run may begin meanwhile.
with gone as (
  select 1
  where not exists (select from cairn.event e where e.shard = $1::int and e.run_id = $2::uuid)
    and not exists (select from cairn.run r where r.shard = $1::int and r.run_id = $2::uuid)
), jobs as (
  delete from cairn.job j
  where j.shard = $1::int and j.run_id = $2::uuid and exists (select from gone) returning 1
), questions as (
  delete from cairn.question q
  where q.shard = $1::int and q.run_id = $2::uuid and exists (select from gone) returning 1
), snapshots as (
  delete from cairn.snapshot s
  where s.shard = $1::int and s.run_id = $2::uuid and exists (select from gone) returning 1
)
select (select count(*) from jobs) + (select count(*) from questions) + (select count(*) from snapshots)
