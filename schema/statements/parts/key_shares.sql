-- As many jobs of each of the keys $9 as $10 says. $2 queue, $11 when the starts of the key's rate are all free again,
-- $12 how much later one start makes that (0: there is none); $13, $14 the same of the queue; $15 its ageing, $16
-- whether its held jobs are counted, $17 the time by the database's clock, $18, $19 whose turn it is next.
  select s.key, s.count, s.full_at
  from unnest($9::text[], $10::int[], $11::bigint[]) as s (key, count, full_at)
