-- The jobs `due` become held. $4 now, $5 session, $6 default timeout (ms), $7 grace (ms).
  update cairn.job j
  set session = $5::bigint, epoch = j.epoch + 1,
      deadline = case
        when j.timeout_ms > 0 then $4::bigint + (least(j.timeout_ms, 1000000000000) + $7::bigint) * 1000
        when $6::bigint > 0 then $4::bigint + (least($6::bigint, 1000000000000) + $7::bigint) * 1000
        else 9223372036854775807 end
  from due
  where j.shard = any (array[due.shard]) and j.run_id = due.run_id and j.branch = due.branch
  returning j.*
