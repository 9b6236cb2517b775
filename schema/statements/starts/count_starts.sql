-- The number of starts that wait; $1 stands for more.
select count(*) from (select from cairn.waiting_start where refusal is null limit $1::bigint) w
