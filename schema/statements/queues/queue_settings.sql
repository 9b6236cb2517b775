select name, concurrency, paused from cairn.queue order by name
