-- Those of the runs $1 that open runs continue or were forked from.
select r.continues as kept from cairn.run r
where r.continues = any($1::uuid[]) and r.continues is not null and r.status in ('running', 'paused')
union
select r.origin from cairn.run r
where r.origin = any($1::uuid[]) and r.origin is not null and r.status in ('running', 'paused')
