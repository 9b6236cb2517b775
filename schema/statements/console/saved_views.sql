select name, address, created_at, created_by from cairn.saved_view order by name limit $1::text::integer
