delete from cairn.passage where corpus = $1::text
