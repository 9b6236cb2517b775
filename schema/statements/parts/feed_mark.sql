  -- The mark of the row `f` of the feed: another row at its position, in a history that was lost, has another one.
  encode(substr(sha256(uuid_send(f.run_id) || pg_lsn_send(f.lsn) || int8send(f.at)), 1, 6), 'hex')
