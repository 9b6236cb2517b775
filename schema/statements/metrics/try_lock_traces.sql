-- True if this transaction is the only one that sends traces by the consumer of the feed; never waits.
select pg_try_advisory_xact_lock(4702111234474983749)
