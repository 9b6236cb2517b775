select exists (select from cairn.passage where corpus = $1::text)
