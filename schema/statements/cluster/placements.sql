-- The Citus shard of each table in which rows of our shards lie, the first $1 of them, and the node that has it; and
-- the one shard of each reference table, which every node has.
select s.shard, c.relname::text as name, d.shardid as citus_shard, n.nodename as host, n.nodeport::text as port
from generate_series(0, $1::int - 1) as s (shard)
cross join pg_dist_partition p
join pg_class c on c.oid = p.logicalrelid and c.relnamespace = 'cairn'::regnamespace
join pg_dist_shard d on d.logicalrelid = p.logicalrelid
  and (p.partmethod = 'n' or d.shardid = get_shard_id_for_distribution_column(p.logicalrelid, s.shard))
left join pg_dist_placement l on l.shardid = d.shardid and p.partmethod = 'h'
left join pg_dist_node n on n.groupid = l.groupid and n.noderole = 'primary'
where p.partmethod = 'h' or (p.partmethod = 'n' and p.repmodel = 't')
order by s.shard
