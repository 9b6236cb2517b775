-- True if this transaction is the only one that archives by the policies of graphs; never waits.
select pg_try_advisory_xact_lock(4702111234474983747)
