-- The rest of this transaction reads no table whole and takes no process to help.
select set_config('enable_seqscan', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)
