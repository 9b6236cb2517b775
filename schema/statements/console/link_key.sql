select encode(key, 'hex') as key from cairn.link_key order by number desc limit 1
