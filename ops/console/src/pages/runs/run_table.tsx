import type { RunListed } from "../../api/types";
import { shortId, Status } from "../../parts/status";
import { Lasted, Time } from "../../parts/time";
import { link } from "../../router";

function Tags({ tags }: { tags: Record<string, string> }) {
  if (Object.keys(tags).length === 0) return null;
  return (
    <span class="tags">
      {Object.entries(tags).map(([key, value]) => <span class="tag" key={key}><bdi>{key}={value}</bdi></span>)}
    </span>
  );
}

const isOver = (status: string) => ["done", "failed", "aborted"].includes(status);

function Row({ run, index, isChosen }: { run: RunListed; index: number; isChosen: boolean }) {
  const cause = run.cause === null ? "" : ` (${run.cause.node}: ${run.cause.error}: ${run.cause.message})`;
  return (
    <tr data-row={index} class={isChosen ? "chosen" : undefined} aria-selected={isChosen}>
      <td><Status of={run.status} /></td>
      <td class="name"><a href={link(["run", run.run])}><bdi>{run.graph}</bdi></a></td>
      <td class="id" title={run.run}>{shortId(run.run)}</td>
      <td class="says">{run.reason !== null && <bdi>{run.reason + cause}</bdi>}<Tags tags={run.tags} /></td>
      <td class="number">{run.events.toLocaleString()}</td>
      <td class="number"><Lasted from={run.started_at} to={isOver(run.status) ? run.updated_at : undefined} /></td>
      <td class="when"><Time at={run.started_at} /></td>
    </tr>
  );
}

export function RunTable({ runs, chosen }: { runs: RunListed[]; chosen: number }) {
  return (
    <table class="list runs">
      <thead>
        <tr>
          <th scope="col">Status</th><th scope="col">Graph</th><th scope="col">Run</th>
          <th scope="col">Reason and tags</th><th scope="col" class="number">Events</th>
          <th scope="col" class="number">Lasted</th><th scope="col" class="when">Started</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run, index) => <Row key={run.run} run={run} index={index} isChosen={index === chosen} />)}
      </tbody>
    </table>
  );
}
