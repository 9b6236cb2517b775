-- Questions with who answered them and when. `status`: open, answered, expired, or closed by the end of its run;
-- `waited` grows while a question is open.
create or replace view cairn.questions as
with ended as (
  select a.shard, a.run_id, a.payload ->> 'question' as question, a.type, a.at, a.payload
  from cairn.events a
  where a.type in ('question_answered', 'question_expired')
)
select q.shard, q.run_id, q.seq, r.graph, q.payload ->> 'question' as question, q.payload ->> 'kind' as kind,
       q.payload -> 'prompt' as prompt, q.at as asked_at,
       case when a.type = 'question_answered' then 'answered' when a.type = 'question_expired' then 'expired'
            when r.status in ('running', 'paused') then 'open' else 'closed' end as status,
       a.at as ended_at, a.payload -> 'value' as answer, a.payload ->> 'by' as answered_by,
       case when a.at is not null then a.at when r.status in ('running', 'paused') then now() end - q.at as waited
from cairn.events q
join cairn.run r on r.shard = q.shard and r.run_id = q.run_id
left join ended a on a.shard = q.shard and a.run_id = q.run_id and a.question = q.payload ->> 'question'
where q.type = 'question_asked'
