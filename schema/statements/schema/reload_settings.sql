select pg_reload_conf()
