update cairn.graph set current = true where name = $1::text and version = $2::text and not current
