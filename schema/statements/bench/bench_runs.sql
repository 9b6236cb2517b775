-- How many runs there are, how many of them are done, and how many events they have.
select count(*), count(*) filter (where status = 'done'), coalesce(sum(head), 0)::bigint from cairn.run
