-- The limits that queues had before changes of them that are under way, or were left: of those that began before $1,
-- of the queue $2 or of all.
select q.name, q.before_revision as revision, q.before_concurrency as concurrency, q.before_paused as paused,
  q.before_limits as limits
from cairn.queue q
where q.change_began < $1::bigint and q.revision = q.before_revision and ($2::text is null or q.name = $2)
order by q.name
for update
