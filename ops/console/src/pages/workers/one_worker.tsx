// One worker: the steps that it holds, and what it can do.
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { HeldStep, SessionShown } from "../../api/types";
import { Read } from "../../parts/states";
import { shortId } from "../../parts/status";
import { duration, exactTime, now } from "../../parts/time";
import { link } from "../../router";
import { workerName } from "./name";
import { Names } from "./page";

export function OneWorker({ session }: { session: string }) {
  const path = `workers/${encodeURIComponent(session)}`;
  const worker = useResource<SessionShown>("worker", (signal) => get<SessionShown>(path, {}, signal), 2000);
  return (
    <section class="one-worker card" aria-label="The worker">
      <Read from={worker}>
        {(shown) => (
          <>
            <h2><bdi>{workerName(shown)}</bdi> <span class="muted session">session {shown.session}</span></h2>
            <Holds steps={shown.holds} count={shown.held} />
            <Abilities worker={shown} />
          </>
        )}
      </Read>
    </section>
  );
}

function Deadline({ at }: { at: string | null }) {
  if (at === null) return <span class="muted">–</span>;
  const left = Date.parse(at) - now.value;
  if (left <= 0) return <time dateTime={at} title={exactTime(at)} class="is-soon">it is over</time>;
  return <time dateTime={at} title={exactTime(at)}>in {duration(Math.ceil(left / 1000) * 1000)}</time>;
}

function Holds({ steps, count }: { steps: HeldStep[]; count: number }) {
  if (count === 0) return <p class="muted">It holds nothing now.</p>;
  return (
    <>
      <table class="list holds">
        <caption class="hidden">The steps that it holds</caption>
        <thead>
          <tr>
            <th scope="col">Run</th><th scope="col">Graph</th><th scope="col" class="number">Step</th>
            <th scope="col" class="number">Attempt</th><th scope="col">Queue</th><th scope="col">Must end</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((held) => (
            <tr key={`${held.run}/${held.step}`}>
              <td><a href={link(["run", held.run])} title={held.run}>{shortId(held.run)}</a></td>
              <td><bdi>{held.graph}</bdi></td>
              <td class="number">{held.step}</td>
              <td class="number">{held.attempt}</td>
              <td><bdi>{held.queue}</bdi></td>
              <td><Deadline at={held.deadline} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {steps.length < count && <p class="muted">{steps.length} of {count} are shown.</p>}
    </>
  );
}

function Abilities({ worker }: { worker: SessionShown }) {
  const rows: [string, string[] | null][] = [
    ["Queues", worker.queues],
    ["Handlers", worker.handlers],
    ["Tools", worker.tools],
    ["May reach", worker.allows],
  ];
  return (
    <dl class="abilities">
      {rows.map(([title, names]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{names === null ? <span class="muted">not said</span> :
            <Names of={names} none={title === "Queues" ? "all" : "none"} />}</dd>
        </div>
      ))}
      {worker.declares === null && worker.has_model !== null && (
        <div><dt>Model</dt><dd>{worker.has_model ? "a language model" : "none: the rule book"}</dd></div>
      )}
    </dl>
  );
}
