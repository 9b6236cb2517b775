update cairn.worker set counter = counter + 1 where session = $1::bigint
