select session, host, pid, queues, counter, started_at, beat_at, only_own, handlers, tools, machine,
  alone, has_model, allows, caller, declares, begun
from cairn.worker
order by started_at, session
