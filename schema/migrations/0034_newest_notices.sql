-- The notices of a hook in the order in which they were noted: its last one, and pages of them, the newest first.
create index concurrently if not exists hook_delivery_noted on cairn.hook_delivery (hook, noted_at, run_id, seq, kind);
