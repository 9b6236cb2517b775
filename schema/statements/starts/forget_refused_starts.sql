delete from cairn.waiting_start where refusal is not null and asked_at < $1::bigint
