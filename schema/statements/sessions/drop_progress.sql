-- Rows of a session that is gone, and of others without a row in cairn.worker. The table has as many rows as there are
-- steps that write now.
delete from cairn.progress p
where p.session = $1::bigint or not exists (select from cairn.worker w where w.session = p.session)
