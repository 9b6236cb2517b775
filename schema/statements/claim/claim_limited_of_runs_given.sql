-- As claim_limited_of_runs.sql, where the claimer says what each queue has left.
with room (queue, place, free, full_at, pace, ageing, is_counted) as materialized (
-- part given_rooms
), near as materialized (
-- part jobs_of_runs
-- part take_of_rooms
