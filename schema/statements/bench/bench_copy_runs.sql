-- Copies of a run for the benchmark's own databases: the runs $3 to $4, each like run $1 with its events and jobs,
-- under ids that begin as $2. With $5 each has tags: `batch` for a thousand of them, `team` for a tenth of all. Their
-- hash chains are their own, by the layout of storage/chain.hpp; each starts a microsecond after the one before. Their
-- events lie as workers write them, the same event of 500 runs next to each other, because small events fill up the
-- pages then. Run after run would leave a gap in every page, for later runs to find, read and log whole.
with recursive copy as materialized (
  select n, (left($2, 24) || lpad(to_hex(n), 8, '0') || right($2, 4))::uuid as run_id
  from generate_series($3::bigint, $4::bigint) n
), sample as materialized (
  select * from cairn.run where shard = 0 and run_id = $1::uuid
), past as materialized (
  select e.*, sha256(convert_to(e.payload, 'UTF8')) as payload_hash
  from cairn.event e where e.shard = 0 and e.run_id = $1::uuid
), link (n, run_id, seq, hash) as (
  select c.n, c.run_id, 0::bigint,
         sha256(convert_to('CAIRN-RUN-1', 'UTF8') || uuid_send(c.run_id) || int4send(octet_length(s.version))
                || convert_to(s.version, 'UTF8'))
  from copy c cross join sample s
  union all
  select l.n, l.run_id, p.seq,
         sha256(convert_to('CAIRN-EVT-1', 'UTF8') || int4send(p.shard) || uuid_send(l.run_id) || int8send(p.seq)
                || int8send(p.at) || int2send(p.type) || int2send(p.version) || int8send(p.commit) || int4send(p.step)
                || int4send(octet_length(p.actor)) || convert_to(p.actor, 'UTF8') || p.payload_hash || l.hash)
  from link l join past p on p.seq = l.seq + 1
), events as (
  insert into cairn.event (shard, step, seq, at, commit, type, version, run_id, chain_hash, actor, payload)
  select p.shard, p.step, p.seq, p.at, p.commit, p.type, p.version, l.run_id, l.hash, p.actor, p.payload
  from link l join past p on p.seq = l.seq
  order by l.n / 500, l.seq, l.n
), jobs as (
  insert into cairn.job (shard, branch, step, attempt, priority, run_at, session, epoch, deadline, timeout_ms, run_id,
                         queue)
  select j.shard, j.branch, j.step, j.attempt, j.priority, j.run_at + c.n, j.session, j.epoch, j.deadline, j.timeout_ms,
         c.run_id, j.queue
  from copy c cross join (select * from cairn.job where shard = 0 and run_id = $1::uuid) j
)
insert into cairn.run (shard, run_id, waiting, head, started_at, updated_at, parent, continues, open_child_of,
                       chain_hash, status, graph, version, reason, tags)
select s.shard, l.run_id, s.waiting, s.head, s.started_at + l.n, s.updated_at, s.parent, s.continues, s.open_child_of,
       l.hash, s.status, s.graph, s.version, s.reason,
       case when $5::boolean then jsonb_build_object('batch', (l.n / 1000)::text, 'team', (l.n % 10)::text)
            else s.tags end
from link l join sample s on s.head = l.seq
order by l.n
