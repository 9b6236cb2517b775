-- The number of jobs that each of the queues $2 may hold yet, paused ones none; $3 at most.
  select q.name, u.place,
         least($3::int, q.concurrency - (select count(*) from cairn.permit p where p.queue = q.name))::int
  from unnest($2::text[]) with ordinality as u (queue, place)
  join cairn.queue q on q.name = u.queue
  where not q.paused
