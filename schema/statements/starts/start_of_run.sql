-- The last start that the run stands for, or would have, with the state of its key.
select w.graph, w.key, w.number, w.run_id, w.asked_at, w.actor, w.request, w.refusal, coalesce(k.state, '') as state
from cairn.waiting_start w
  left join cairn.start_key k on k.graph = w.graph and k.key = w.key
where w.run_id = $1::uuid
order by w.number desc
limit 1
