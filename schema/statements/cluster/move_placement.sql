-- Moves a shard, with those of the other tables of runs, to another node: while it is in use ($6) if the servers' WAL
-- allows it (wal_level = logical).
select citus_move_shard_placement($1::bigint, $2::text, $3::int, $4::text, $5::int,
  case when $6::boolean and current_setting('wal_level') = 'logical' then 'auto'
       else 'block_writes' end::citus.shard_transfer_mode)
