-- The newest first, those before the number $2.
select n.number, n.at, n.kind, n.actor, n.says, n.definition
from cairn.hook_note n
where n.hook = $1::text and n.number < $2::bigint
order by n.hook desc, n.number desc
limit $3::int
