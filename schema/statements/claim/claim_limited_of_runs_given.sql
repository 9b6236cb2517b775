-- As claim_limited_of_runs.sql, where the rooms of the queues were counted over all nodes of a cluster: $9.
with room (queue, place, free) as materialized (
-- part given_rooms
-- part claim_of_rooms_and_runs
