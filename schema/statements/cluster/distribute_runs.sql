-- First of the tables of runs, whose shards the others then follow. $1: into how many of Citus' shards.
select create_distributed_table('cairn.run', 'shard', shard_count := $1::int, colocate_with := 'none')
