-- In a cluster, before the permits of what is held are counted on each node; put_limits follows.
insert into cairn.queue (name, paused) values ($1::text, true)
on conflict (name) do update set paused = true
