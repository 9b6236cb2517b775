-- How many starts wait, counted up to $1.
select count(*) from (select from cairn.waiting_start where refusal is null limit $1::bigint) w
