select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')
