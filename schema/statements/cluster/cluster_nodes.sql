-- The nodes of a Citus cluster that take shards, and which of them this is.
select nodename::text as host, nodeport as port, groupid = (select groupid from pg_dist_local_group) as is_here
from pg_dist_node
where noderole = 'primary' and isactive and shouldhaveshards
order by nodename, nodeport
