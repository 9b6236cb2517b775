-- The snapshots of a run that has ended.
delete from cairn.snapshot s
where s.shard = $1::int and s.run_id = $2::uuid
      and not exists (select from cairn.run r
                      where r.shard = $1::int and r.run_id = $2::uuid and r.status in ('running', 'paused'))
