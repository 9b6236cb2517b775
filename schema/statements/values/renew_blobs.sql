-- As put_blob.sql for values that are to be there already; how many are.
with renewed as (
  update cairn.blob set put_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
  where shard = $1::int and hash = any($2::bytea[])
  returning 1
)
select count(*) from renewed
