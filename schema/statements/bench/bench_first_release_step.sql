-- As a worker of the first release commits a step: an event more for the run $1, its head, its held job.
with headed as (
  update cairn.run set head = head + 1, updated_at = updated_at + 1
  where shard = 0 and run_id = $1::uuid
  returning head
), noted as (
  insert into cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload)
  select 0, $1::uuid, h.head, h.head, h.head, 8, 1, h.head::int, sha256(int8send(h.head)), 'bench', '{"output":"x"}'
  from headed h
)
update cairn.job set step = step + 1 where shard = 0 and run_id = $1::uuid and branch = 1
