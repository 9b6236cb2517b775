-- Texts of a run's open steps: the rows of attempts that are still held by the sessions that wrote them.
select p.branch, p.step, p.attempt, p.session, p.at, p.written, p.node, p.text
from cairn.progress p
cross join lateral (
  select 1 from cairn.job j
  where j.shard = p.shard and j.run_id = p.run_id and j.branch = p.branch and j.step = p.step
        and j.attempt = p.attempt and j.session = p.session
  offset 0
) held
where p.shard = $1::int and p.run_id = $2::uuid
order by p.step
limit $3::int
