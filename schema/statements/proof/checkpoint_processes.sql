select distinct process from cairn.checkpoint where process > $1::bigint order by process limit $2::int
