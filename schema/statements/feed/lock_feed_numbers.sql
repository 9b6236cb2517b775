-- One process at a time gives positions.
select pg_advisory_xact_lock(4702111234474983748)
