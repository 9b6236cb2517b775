-- The runs that are as the archive has them, locked.
select u.place
from unnest($2::uuid[], $3::bigint[], $4::bytea[]) with ordinality as u (run_id, seq, chain_hash, place)
join cairn.run r on r.shard = $1::int and r.run_id = u.run_id and r.head = u.seq and r.chain_hash = u.chain_hash
where r.status in ('done', 'failed', 'aborted')
order by r.run_id
for update of r
