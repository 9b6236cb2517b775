-- Lets the coordinator have shards, too.
select citus_set_node_property(current_setting('citus.local_hostname'), current_setting('port')::int,
                               'shouldhaveshards', true)
