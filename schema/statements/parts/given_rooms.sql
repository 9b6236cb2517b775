-- One row for each of the queues $2, as the claimer found them: $9 how many more jobs it may hold; $10 when all starts
-- of its rate are free again, $11 how much later one start makes that (0: no rate); $12 its ageing; $13 whether
-- its held jobs are counted; $14 is the time by the database's clock.
  select u.queue, u.place, least($3::int, u.free)::int, u.full_at, u.pace, u.ageing, u.is_counted
  from unnest($2::text[], $9::int[], $10::bigint[], $11::bigint[], $12::bigint[], $13::boolean[]) with ordinality
       as u (queue, free, full_at, pace, ageing, is_counted, place)
