-- As claim_limited.sql, from these runs only. Parameters as in claim_of_runs.sql.
with room (queue, place, free) as materialized (
-- part limited_rooms
-- part claim_of_rooms_and_runs
