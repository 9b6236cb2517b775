-- Makes a database with the extension the coordinator of a cluster that has no other node.
select citus_set_coordinator_host(current_setting('citus.local_hostname'), current_setting('port')::int)
