-- The runs that open runs continue or were forked from.
select continues from cairn.run where status in ('running', 'paused') and continues is not null
union
select origin from cairn.run where status in ('running', 'paused') and origin is not null
