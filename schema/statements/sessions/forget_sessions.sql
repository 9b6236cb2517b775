-- A restored past begins again without its sessions: no worker that still runs finds its own, so that it ends, and no
-- hold is honoured. A held job names a session that never was, which makes its fence refuse all who held it; the next
-- sweep finds it and its step is lost.
with forgotten as (
  delete from cairn.worker returning session
), unheld as (
  update cairn.job set session = -session, epoch = epoch + 1 where session > 0 returning 1
)
select (select count(*) from forgotten) as sessions, (select count(*) from unheld) as holds
