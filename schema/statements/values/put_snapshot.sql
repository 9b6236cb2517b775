-- A snapshot of an open run; its last two are kept. (An older fold's are not read any more by those who write this
-- one's. And its row is locked: the commit that ends it drops what there is then, and nothing comes after it.)
with open_run as (
  select from cairn.run where shard = $1::int and run_id = $2::uuid and status in ('running', 'paused') for share
), outdated as (
  delete from cairn.snapshot s
  where s.shard = $1::int and s.run_id = $2::uuid
        and (s.fold_version < $3::int
             or (s.fold_version = $3::int
                 and s.seq < (select max(n.seq) from cairn.snapshot n
                              where n.shard = $1::int and n.run_id = $2::uuid and n.fold_version = $3::int
                                    and n.seq < $4::bigint)))
)
insert into cairn.snapshot (shard, run_id, fold_version, seq, chain_hash, state)
select $1::int, $2::uuid, $3::int, $4::bigint, $5::bytea, $6::text
from open_run
on conflict (shard, run_id, fold_version, seq) do update set chain_hash = excluded.chain_hash, state = excluded.state
