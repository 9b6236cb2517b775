select id::text from cairn.identity
