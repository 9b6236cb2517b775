-- Written before the step begins and after it has ended.
update cairn.worker set alone = $2::text where session = $1::bigint
