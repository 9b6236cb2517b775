// The channels as a tree, with what changed since another event: the one before, or the first.
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Difference } from "../../api/types";
import { JsonTree, type Marks } from "../../parts/json_tree";
import { Failure } from "../../parts/states";
import { amend, route } from "../../router";
import { useRun } from "./moment";

const bases = { before: "the event before", first: "the start" } as const;

export function Channels() {
  const view = useRun();
  const base = route.value.query.get("since") === "first" ? "first" : "before";
  const run = view.shown.value;
  const at = run?.seq ?? view.at.value;
  const from = base === "first" ? 1 : Math.max(1, at - 1);
  const read = useResource<Difference>(`${view.run} ${from} ${at}`, (signal) =>
    get<Difference>(`runs/${view.run}/diff`, { at: from, with_at: at }, signal));
  if (run === undefined) return null;
  const changes = read.data.value?.channels ?? [];
  const marks: Marks = { changed: new Map(changes.map((change) => [change.path, change])) };
  const removed = changes.filter((change) => !("b" in change) || change.b === undefined);
  return (
    <div class="channels">
      <div class="event-kinds" role="group" aria-label="Changes since">
        <span class="muted">Changes since</span>
        {Object.entries(bases).map(([name, says]) => (
          <button type="button" key={name} class="chip" aria-pressed={name === base}
            onClick={() => amend({ since: name === "first" ? "first" : undefined })}>{says}</button>
        ))}
        {read.data.value !== undefined && (
          <span class="muted number">{changes.length} {changes.length === 1 ? "change" : "changes"}</span>
        )}
      </div>
      {read.error.value !== undefined && read.error.value.code !== "lost" && <Failure error={read.error.value} />}
      <JsonTree value={run.channels} marks={marks} open={2} />
      {removed.map((change) => (
        <p key={change.path} class="gone"><del><bdi>{change.path}</bdi></del></p>
      ))}
      <Budgets />
    </div>
  );
}

function Budgets() {
  const budgets = Object.entries(useRun().shown.value?.budgets ?? {}) as [string, { cap: number; used: number }][];
  if (budgets.length === 0) return null;
  return (
    <section class="budgets" aria-label="Budgets">
      <h2>Budgets</h2>
      {budgets.map(([name, { cap, used }]) => (
        <p key={name} class="budget">
          <label>
            <bdi>{name}</bdi> <span class="muted number">{used} of {cap}</span>
            <meter min={0} max={Math.max(cap, 1)} value={used} />
          </label>
        </p>
      ))}
    </section>
  );
}
