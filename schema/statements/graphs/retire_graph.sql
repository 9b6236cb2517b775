update cairn.graph set current = false where name = $1::text and current and version <> $2::text
