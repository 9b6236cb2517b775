-- The last checkpoint of each process, the youngest first.
select c.process, c.n, c.at, encode(c.signature, 'hex')
from (select process, max(n) as n from cairn.checkpoint group by process) l
join cairn.checkpoint c on c.process = l.process and c.n = l.n
order by c.at desc, c.process
