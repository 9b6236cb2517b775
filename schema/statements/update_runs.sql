-- As in lock_runs.sql, the limit is there for the planner.
update cairn.run r
set head = u.head, chain_hash = u.chain_hash, status = u.status, waiting = u.waiting, updated_at = u.updated_at,
    version = u.version, reason = u.reason,
    open_child_of = case when u.status in ('running', 'paused') then r.parent end
from (select *
      from unnest($2::uuid[], $3::bigint[], $4::bytea[], $5::text[], $6::boolean[], $7::bigint[], $8::text[],
                  $9::text[])
           as n (run_id, head, chain_hash, status, waiting, updated_at, version, reason)
      limit cardinality($2)) u
where r.shard = $1::int and r.run_id = u.run_id
