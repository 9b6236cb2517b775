-- The number of jobs that each of the queues $2 may hold yet, as $9 says; $3 at most.
  select u.queue, u.place, least($3::int, u.free)::int
  from unnest($2::text[], $9::int[]) with ordinality as u (queue, free, place)
