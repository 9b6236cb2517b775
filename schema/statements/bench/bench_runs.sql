-- The number of runs, of those that are done, and of all their events.
select count(*), count(*) filter (where status = 'done'), coalesce(sum(head), 0)::bigint from cairn.run
