-- After retire_permits: how many jobs of each of these keys of a queue are held, and when the starts of the key's rate
-- are all free again. $1 queue, $2 keys.
select k.key, coalesce(h.count, 0) as held,
  (select max(r.full_at) from cairn.rate r where r.queue = $1::text and r.key = '=' || k.key) as full_at
from unnest($2::text[]) as k (key)
left join (select p.key, count(*) from cairn.permit p where p.queue = $1::text group by p.key) h on h.key = k.key
