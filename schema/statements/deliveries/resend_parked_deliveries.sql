-- Sends those again that are parked: the next $5 after the notice $2, $3, $4, in the order of their keys, so that none
-- that is parked once more meanwhile comes twice.
with next as materialized (
  select p.run_id, p.seq, p.kind
  from cairn.hook_delivery p
  where p.hook = $1::text and p.status = 'parked' and (p.run_id, p.seq, p.kind) > ($2::uuid, $3::bigint, $4::text)
  order by p.hook, p.run_id, p.seq, p.kind
  limit $5::int
), sent as (
  update cairn.hook_delivery d
  set status = 'waiting', failures = 0, settled_at = null,
    next_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
  from next n
  where d.hook = $1::text and d.run_id = n.run_id and d.seq = n.seq and d.kind = n.kind and d.status = 'parked'
  returning d.hook
)
select n.run_id, n.seq, n.kind, (select count(*) from sent) as sent
from next n
order by n.run_id, n.seq, n.kind
