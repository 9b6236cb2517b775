-- Made by `cairn distribute` on every node of a Citus cluster: keeps a shard on this node until the transaction ends.
-- The lock is the one that Citus' own writes take, and that a move of the shard waits for
-- (LockShardDistributionMetadata); only the tables' owner may take it by hand, so the function runs as the owner. A
-- shard that is not here, or no longer, is refused: its rows may lie here for a while, and must not be written.
create or replace function cairn.hold_shard(citus_shard bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog
as $$
begin
  perform lock_shard_metadata(5, array[citus_shard]);  -- 5: ShareLock
  if not exists (
    select from pg_dist_placement p join pg_dist_local_group l on l.groupid = p.groupid
    where p.shardid = citus_shard and p.shardstate = 1
  ) then
    raise exception using errcode = 'CN001', message = format('shard %s is not on this node', citus_shard);
  end if;
end
$$
