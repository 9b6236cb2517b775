-- True if this transaction is the only one that puts runs into files; never waits.
select pg_try_advisory_xact_lock(4702111234474983747)
