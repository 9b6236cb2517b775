-- Two loads into one corpus go one after the other.
select pg_advisory_xact_lock(hashtextextended('cairn corpus ' || $1::text, 0))
