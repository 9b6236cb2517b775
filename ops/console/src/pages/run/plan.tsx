// The plan: sub-goals under their parents, each with its status as of the moment.
import { useSignal } from "@preact/signals";
import { getPage } from "../../api/client";
import { useFollowed } from "../../api/resource";
import type { SubGoal } from "../../api/types";
import { JsonTree } from "../../parts/json_tree";
import { Empty, Read } from "../../parts/states";
import { Status } from "../../parts/status";
import { useRun } from "./moment";

function Goal({ goal, children }: { goal: SubGoal; children: Map<string, SubGoal[]> }) {
  const isOpen = useSignal(false);
  const below = children.get(goal.id) ?? [];
  const says = goal.error === undefined ? goal.reason : `${goal.error.error}: ${goal.error.message}`;
  return (
    <li>
      <button type="button" class="goal" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        <Status of={goal.status} />
        <bdi class="goal-name">{goal.title ?? goal.id}</bdi>
        {goal.title !== undefined && <code class="muted">{goal.id}</code>}
        {goal.tool !== undefined && <span class="muted"><bdi>{goal.tool}</bdi></span>}
        {(goal.after ?? []).length > 0 && <span class="muted">after <bdi>{goal.after!.join(", ")}</bdi></span>}
        {says !== undefined && <span class={goal.status === "failed" ? "refusal" : "muted"}><bdi>{says}</bdi></span>}
      </button>
      {isOpen.value && (
        <div class="goal-detail">
          <h2>Inputs</h2>
          <JsonTree value={goal.inputs ?? null} open={2} />
          {goal.outputs !== undefined && <><h2>Outputs</h2><JsonTree value={goal.outputs} open={2} /></>}
        </div>
      )}
      {below.length > 0 && <ul>{below.map((one) => <Goal key={one.id} goal={one} children={children} />)}</ul>}
    </li>
  );
}

function Tree({ plan }: { plan: SubGoal[] }) {
  if (plan.length === 0)
    return <Empty title="No plan"><p>This run has no sub-goals as of this event.</p></Empty>;
  const ids = new Set(plan.map((goal) => goal.id));
  const children = new Map<string, SubGoal[]>();
  const roots: SubGoal[] = [];
  for (const goal of plan) {
    const parent = goal.parent !== undefined && ids.has(goal.parent) ? goal.parent : undefined;
    if (parent === undefined) roots.push(goal);
    else children.set(parent, [...(children.get(parent) ?? []), goal]);
  }
  return <ul class="plan">{roots.map((goal) => <Goal key={goal.id} goal={goal} children={children} />)}</ul>;
}

// Page by page: a plan may be too large for one answer. All pages are of one event.
async function planOf(run: string, at: number | undefined, signal: AbortSignal): Promise<SubGoal[]> {
  const goals: SubGoal[] = [];
  let after: string | undefined;
  do {
    const page = await getPage<SubGoal>(`runs/${run}/plan`, { at, limit: 1000, after }, "after", signal);
    goals.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return goals;
}

export function Plan() {
  const view = useRun();
  const at = view.shown.value?.seq ?? view.at.value;
  const read = useFollowed<SubGoal[]>(`plan ${view.run}`, String(at), (signal) => planOf(view.run, at, signal));
  return <Read from={read}>{(plan) => <Tree plan={plan} />}</Read>;
}
