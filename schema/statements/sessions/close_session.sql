delete from cairn.worker where session = $1::bigint
