with left_runs as (delete from cairn.home where session = $1::bigint)
delete from cairn.worker where session = $1::bigint
