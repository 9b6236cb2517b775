-- The number of runs that runs.sql or, with tags, runs_tagged.sql would find, up to $5.
select count(*) from (
  select
  from cairn.run r
-- part run_cause
-- part run_filter
  limit $5::int
) as found
