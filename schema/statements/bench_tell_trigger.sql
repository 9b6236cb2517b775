create trigger bench_tell after update on cairn.run
for each row when (new.status <> 'running') execute function cairn.bench_tell()
