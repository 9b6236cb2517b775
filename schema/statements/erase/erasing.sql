select hash from cairn.erasing where shard = $1::int order by hash
