delete from cairn.passage where corpus = $1::text and source = $2::text
