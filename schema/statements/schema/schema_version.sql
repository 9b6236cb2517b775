select coalesce(max(number), 0), coalesce(min(shards), 1) from cairn.migration
