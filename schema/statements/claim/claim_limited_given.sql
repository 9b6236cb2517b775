-- As claim_limited.sql, where the claimer says what each queue has left: as counted over all nodes of a cluster, or of
-- governed queues.
with recursive room (queue, place, free, full_at, pace, ageing, is_counted) as materialized (
-- part given_rooms
-- part jobs_by_level
-- part take_of_rooms
