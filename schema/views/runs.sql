-- Runs for people.
create or replace view cairn.runs as
select shard, run_id, graph, version, case when status = 'running' and waiting then 'waiting' else status end as status,
       reason, head, to_timestamp(started_at / 1000000.0) as started_at,
         to_timestamp(updated_at / 1000000.0) as updated_at,
       parent, continues, tags, chain_hash, origin, origin_seq
from cairn.run
