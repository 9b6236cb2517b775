select session, host, pid, queues, counter, started_at from cairn.worker order by started_at, session
