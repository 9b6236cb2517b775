-- The nodes of a Citus cluster that take shards.
select nodename::text as host, nodeport as port
from pg_dist_node
where noderole = 'primary' and isactive and shouldhaveshards
order by nodename, nodeport
