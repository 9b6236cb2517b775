-- No hold of a restored past is honoured. A held job names a session that never was, which makes its fence refuse all
-- who held it, also a worker that lives on and opens its session again; the next sweep finds the job, and its step is
-- lost. Apart from forget_sessions: on a cluster each changes tables of one kind.
with unheld as (
  update cairn.job set session = -session, epoch = epoch + 1 where session > 0 returning 1
)
select count(*) as holds from unheld
