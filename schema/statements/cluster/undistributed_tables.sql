-- Cairn's tables that the cluster does not know yet, and whether there is anything in their files. (Shards that lie on
-- this node have names of their own, which end with the number of a shard.)
select c.relname::text as name, pg_relation_size(c.oid) > 0 as is_filled
from pg_class c
where c.relnamespace = 'cairn'::regnamespace and c.relkind = 'r'
  and not exists (select from pg_dist_partition p where p.logicalrelid = c.oid)
  and not exists (select from pg_dist_shard d
                  where c.relname = (select l.relname from pg_class l where l.oid = d.logicalrelid) || '_' || d.shardid)
order by c.relname
