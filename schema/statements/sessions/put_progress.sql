-- Texts of the steps of a session, each while it holds that attempt; and the end of those that it holds no more. Locks
-- no row of a run or a job.
with ended as (
  delete from cairn.progress p
  using unnest($11::int[], $12::uuid[], $13::int[], $14::int[]) as e (shard, run_id, step, attempt)
  where p.shard = e.shard and p.run_id = e.run_id and p.step = e.step and p.attempt = e.attempt
        and p.session = $1::bigint
)
insert into cairn.progress (shard, run_id, branch, step, attempt, session, at, written, node, text)
select u.shard, u.run_id, u.branch, u.step, u.attempt, $1::bigint, $10::bigint, u.written, u.node, u.text
from unnest($2::int[], $3::uuid[], $4::int[], $5::int[], $6::int[], $7::bigint[], $8::text[], $9::text[])
     as u (shard, run_id, branch, step, attempt, written, node, text)
cross join lateral (
  select 1 from cairn.job j
  where j.shard = u.shard and j.run_id = u.run_id and j.branch = u.branch and j.step = u.step
        and j.attempt = u.attempt and j.session = $1::bigint
  offset 0
) held
on conflict (shard, run_id, step, attempt) do update
set session = excluded.session, at = excluded.at, written = excluded.written, text = excluded.text
