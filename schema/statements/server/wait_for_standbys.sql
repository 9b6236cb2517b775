-- Writes a little that no one reads: its commit waits for the synchronous standbys to have all that was committed
-- before it. An attempt after a doubtful one may find everything there, write nothing, and wait for none of them.
select pg_logical_emit_message(true, 'cairn', '') where not pg_is_in_recovery()
