-- Fails (22P02, with what was found in its text) unless this is the database of identity $1. Sent with each transaction
-- that passes a pooler, which may lead elsewhere from one to the next.
select case when found.id is distinct from $1 then ('another database: ' || coalesce(found.id, 'none'))::int end
from (select (select id::text from cairn.identity) as id) found
