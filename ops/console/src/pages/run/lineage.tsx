// The runs that this one came from, called, and that came from it; each can be compared with it.
import { getPage, type Page } from "../../api/client";
import { useResource } from "../../api/resource";
import type { RunListed } from "../../api/types";
import { Read } from "../../parts/states";
import { shortId, Status } from "../../parts/status";
import { Time } from "../../parts/time";
import { link } from "../../router";
import { useRun, type RunView } from "./moment";

function relation(run: RunListed): string {
  if (run.forked_from !== null) return `forked from ${shortId(run.forked_from.run)} at event ${run.forked_from.seq}`;
  if (run.parent !== null) return `called by ${shortId(run.parent)}`;
  if (run.continues !== null) return `continues ${shortId(run.continues)}`;
  return "the first";
}

// Not there yet at the slider's moment.
const isLater = (run: RunListed, view: RunView) =>
  !view.isNow.value && view.at.value <= view.history.known.value &&
  Date.parse(run.started_at) > view.history.timeAt(view.at.value);

const shownMax = 200;

export function Lineage() {
  const view = useRun();
  const read = useResource<Page<RunListed>>(`lineage ${view.run}`, (signal) =>
    getPage<RunListed>("runs", { lineage: view.run, limit: shownMax }, "after", signal), 5000);
  const children = view.head.value?.children ?? [];
  return (
    <Read from={read}>{({ items, next }) => {
      const known = new Set(items.map((run) => run.run));
      const all = [...items, ...children.filter((run) => !known.has(run.run))];
      return (
        <>
          <table class="list">
            <thead><tr><th scope="col">Status</th><th scope="col">Run</th><th scope="col">Came about</th>
              <th scope="col">Started</th><th scope="col"><span class="hidden">Compare</span></th></tr></thead>
            <tbody>{all.map((run) => (
              <tr key={run.run} class={run.run === view.run ? "chosen" : undefined}>
                <td><Status of={run.status} /></td>
                <td><a href={link(["run", run.run])}><bdi>{run.graph}</bdi> {shortId(run.run)}</a></td>
                <td class="muted">{run.run === view.run ? "this run" : relation(run)}
                  {isLater(run, view) && ", later"}</td>
                <td class="muted"><Time at={run.started_at} /></td>
                <td>{run.run !== view.run && <a href={link(["compare", view.run, run.run])}>Compare</a>}</td>
              </tr>
            ))}</tbody>
          </table>
          {next !== undefined && (
            <p class="more">
              <a href={link(["runs"], { where: `lineage=${view.run}` })}>There are more: list all of them</a>
            </p>
          )}
        </>
      );
    }}</Read>
  );
}
