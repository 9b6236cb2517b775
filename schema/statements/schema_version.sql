select max(number), min(shards) from cairn.migration
