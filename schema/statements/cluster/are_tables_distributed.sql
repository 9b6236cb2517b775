-- True where a Citus cluster has the tables of runs on its nodes: hold_shard is made with them.
select to_regprocedure('cairn.hold_shard(bigint)') is not null
