-- Decisions: what was proposed (by a model, a rule or as a fallback), which rules rewrote it, in their order, and what
-- was done in the end. One row for each proposal. A rewrite belongs to the last proposal of its own step, or, where one
-- step proposes and another enforces, of the run. `enforced` is null where the planner does not record it.
create or replace view cairn.decisions as
with noted as (
  select e.*,
         coalesce(max(e.seq) filter (where e.type = 'decision_proposed')
                    over (partition by e.shard, e.run_id, e.step order by e.seq),
                  max(e.seq) filter (where e.type = 'decision_proposed')
                    over (partition by e.shard, e.run_id order by e.seq)) as decision
  from cairn.events e
  where e.type in ('decision_proposed', 'decision_rewritten', 'decision_enforced')
)
select shard, run_id, decision as seq, min(at) as at, max(step) filter (where type = 'decision_proposed') as step,
       max(payload ->> 'action') filter (where type = 'decision_proposed') as proposed,
       max(payload ->> 'target') filter (where type = 'decision_proposed') as target,
       max(payload ->> 'source') filter (where type = 'decision_proposed') as source,
       max(payload ->> 'reason') filter (where type = 'decision_proposed') as reason,
       coalesce(jsonb_agg(payload order by seq) filter (where type = 'decision_rewritten'), '[]') as rewrites,
       max(payload ->> 'action') filter (where type = 'decision_enforced') as enforced
from noted
group by shard, run_id, decision
