// The processes that execute steps: which are there, what they hold, what they can do.
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Session } from "../../api/types";
import { useKeys } from "../../keys";
import { Empty, Read } from "../../parts/states";
import { go, link, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { Gauge } from "../../parts/chart/sparkline";
import { Time } from "../../parts/time";
import { workerName } from "./name";
import { OneWorker } from "./one_worker";

export function Page() {
  const chosen = route.value.rest[0];
  const workers = useResource<Session[]>("workers", (signal) => get<Session[]>("workers", {}, signal), 2000);
  const path = chosen === undefined ? "workers" : `workers/${encodeURIComponent(chosen)}`;
  useCommandLines(curlLine(path), "cairn workers");
  return (
    <>
      <div class="page-head"><h1>Workers</h1><Counts workers={workers.data.value ?? []} /></div>
      <Read from={workers}>{(found) => <Workers workers={inOrder(found)} chosen={chosen} />}</Read>
    </>
  );
}

// Those that are gone and still hold something come first: their steps wait until they are taken over.
function inOrder(workers: Session[]): Session[] {
  const rank = (worker: Session) => (worker.alive ? 1 : worker.held > 0 ? 0 : 2);
  return [...workers].sort((a, b) => rank(a) - rank(b) || b.started_at.localeCompare(a.started_at));
}

function Counts({ workers }: { workers: Session[] }) {
  if (workers.length === 0) return null;
  const alive = workers.filter((worker) => worker.alive);
  const held = workers.reduce((sum, worker) => sum + worker.held, 0);
  return <span class="muted">{alive.length} alive, {held} {held === 1 ? "step" : "steps"} held</span>;
}

function Workers({ workers, chosen }: { workers: Session[]; chosen: string | undefined }) {
  const at = workers.findIndex((worker) => String(worker.session) === chosen);
  const open = (index: number) => {
    const worker = workers[Math.min(Math.max(index, 0), workers.length - 1)];
    if (worker !== undefined) go(["workers", String(worker.session)]);
  };
  useKeys([
    { keys: "j", says: "Next worker", act: () => open(at + 1) },
    { keys: "k", says: "Worker before", act: () => open(at - 1) },
  ], [workers, at]);
  if (workers.length === 0)
    return (
      <Empty title="No worker is there">
        <p>Steps wait until one is started:</p>
        <pre>cairn work</pre>
      </Empty>
    );
  return (
    <>
      <table class="list cards workers">
        <thead>
          <tr>
            <th scope="col">Worker</th><th scope="col">State</th><th scope="col">Held</th>
            <th scope="col">Last beat</th><th scope="col">Started</th><th scope="col">Queues</th>
          </tr>
        </thead>
        <tbody>{workers.map((worker) => (
          <Row key={worker.session} worker={worker} isChosen={String(worker.session) === chosen} />
        ))}</tbody>
      </table>
      {chosen !== undefined && <OneWorker key={chosen} session={chosen} />}
    </>
  );
}

export function State({ worker }: { worker: Session }) {
  if (worker.alive) return <span class="status is-running"><span aria-hidden="true">●</span>alive</span>;
  return <span class={worker.held > 0 ? "status is-failed" : "status is-aborted"}>
    <span aria-hidden="true">✕</span>gone
  </span>;
}

function Row({ worker, isChosen }: { worker: Session; isChosen: boolean }) {
  return (
    <tr class={isChosen ? "chosen" : undefined}>
      <td class="name">
        <a href={link(["workers", String(worker.session)])} aria-current={isChosen ? "true" : undefined}>
          <bdi>{workerName(worker)}</bdi>
        </a>
        {worker.declares !== null && <span class="tag">over HTTP</span>}
        {worker.only_own && <span class="tag">own runs only</span>}
      </td>
      <td><State worker={worker} /></td>
      <td data-label="Held"><Gauge used={worker.held} most={null} label="Held" /></td>
      <td data-label="Last beat">{worker.last_beat === null ? <span class="muted">unknown</span> :
        <Time at={worker.last_beat} />}</td>
      <td data-label="Started"><Time at={worker.started_at} /></td>
      <td data-label="Queues" class="wide"><Names of={worker.queues} none="all" /></td>
    </tr>
  );
}

export function Names({ of, none }: { of: string[]; none: string }) {
  if (of.length === 0) return <span class="muted">{none}</span>;
  return <span class="tags">{of.map((name) => <span class="tag" key={name}><bdi>{name}</bdi></span>)}</span>;
}
