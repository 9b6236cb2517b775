-- Written before the steps begin.
update cairn.worker set begun = $2::text[] where session = $1::bigint
