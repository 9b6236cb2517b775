-- Removes values that were put last before $3; how many, and their bytes.
with gone as (
  delete from cairn.blob where shard = $1::int and hash = any($2::bytea[]) and put_at < $3::bigint
  returning octet_length(bytes) as bytes
)
select count(*), coalesce(sum(bytes), 0)::bigint from gone
