-- As claim_limited.sql, where the rooms of the queues were counted over all nodes of a cluster: $9.
with recursive room (queue, place, free) as materialized (
-- part given_rooms
-- part claim_of_rooms
