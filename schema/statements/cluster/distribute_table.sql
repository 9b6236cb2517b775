select create_distributed_table(('cairn.' || $1::text)::regclass, 'shard', colocate_with := 'cairn.run')
