-- A restored past begins again without its sessions, and no hold of it is honoured. A held job names a session that
-- never was, which makes its fence refuse all who held it, also a worker that lives on and opens its session again; the
-- next sweep finds the job, and its step is lost.
with forgotten as (
  delete from cairn.worker returning session
), unheld as (
  update cairn.job set session = -session, epoch = epoch + 1 where session > 0 returning 1
)
select (select count(*) from forgotten) as sessions, (select count(*) from unheld) as holds
