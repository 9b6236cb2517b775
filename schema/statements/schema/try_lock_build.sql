-- True if this transaction is the only one that builds an index; never waits.
select pg_try_advisory_xact_lock(4702111234474983746)
