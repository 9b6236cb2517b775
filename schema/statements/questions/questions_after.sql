-- At most as many as take $5 bytes together, but one at least. The lengths are read without the texts, which are read
-- for the rows of the answer alone.
select run_id, id, step, kind, prompt, schema, fallback, expires_at, asked_at
from (select q.*, row_number() over in_order as place,
        sum(octet_length(prompt)::bigint + octet_length(schema) + coalesce(octet_length(fallback), 0)) over in_order
          as bytes
      from (select run_id, id, step, kind, prompt, schema, fallback, expires_at, asked_at
            from cairn.question
            where (asked_at, run_id, id) > ($1::bigint, $2::uuid, $3::text)
            order by asked_at, run_id, id
            limit $4::int) q
      window in_order as (order by asked_at, run_id, id rows unbounded preceding)) s
where place = 1 or bytes <= $5::bigint
order by asked_at, run_id, id
