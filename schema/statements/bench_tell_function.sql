-- For the benchmark's own databases: whoever listens hears of the end of a run when its commit is done.
create function cairn.bench_tell() returns trigger language plpgsql as $$
begin
  notify cairn_bench;
  return null;
end $$
