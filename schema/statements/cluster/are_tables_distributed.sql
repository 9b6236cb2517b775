-- Whether a Citus cluster has the tables of runs on its nodes; it has hold_shard from then on.
select to_regprocedure('cairn.hold_shard(bigint)') is not null
