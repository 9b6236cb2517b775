-- A run that ends takes its snapshots along. Releases before this one left those of some runs, for ever.
delete from cairn.snapshot s using cairn.run r
where r.shard = s.shard and r.run_id = s.run_id and r.status not in ('running', 'paused');
