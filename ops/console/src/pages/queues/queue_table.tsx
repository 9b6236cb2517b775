import { mayLimit } from "../../api/client";
import type { Queue, Session } from "../../api/types";
import { Gauge, Sparkline } from "../../parts/chart/sparkline";
import { Age } from "../../parts/time";
import { link } from "../../router";
import type { Change } from "./change";
import { furtherWords } from "./limits";
import { samples, servedBy, spanMs } from "./reading";

interface Props {
  queues: Queue[];
  workers: Session[];
  chosen: string | undefined;
  onChange: (queue: Queue, kind: Change["kind"]) => void;
}

export function QueueTable({ queues, workers, chosen, onChange }: Props) {
  return (
    <table class="list cards queues">
      <thead>
        <tr>
          <th scope="col">Queue</th><th scope="col">Held</th><th scope="col">Ready</th>
          <th scope="col">Ready lately</th><th scope="col">Oldest ready</th><th scope="col" class="number">Later</th>
          <th scope="col">Workers</th><th scope="col">Limits</th>
          {mayLimit() && <th scope="col"><span class="hidden">Change</span></th>}
        </tr>
      </thead>
      <tbody>
        {queues.map((queue) => (
          <Row key={queue.queue} queue={queue} workers={servedBy(queue.queue, workers)}
            isChosen={queue.queue === chosen} onChange={onChange} />
        ))}
      </tbody>
    </table>
  );
}

// A queue in which steps are ready that no worker takes is what a person looks for here.
function Serving({ queue, workers }: { queue: Queue; workers: Session[] }) {
  if (workers.length > 0) return <>{workers.length}</>;
  if (queue.ready === 0) return <span class="muted">none</span>;
  return <span class="is-soon">no worker serves it</span>;
}

// Next to the gauge of what is held, and the sign of a pause.
function Limits({ queue }: { queue: Queue }) {
  const words = furtherWords(queue);
  if (words.length === 0) return <span class="muted">{queue.concurrency === null ? "none" : "none further"}</span>;
  return <bdi class="limits muted">{words.join("; ")}</bdi>;
}

interface RowProps {
  queue: Queue;
  workers: Session[];
  isChosen: boolean;
  onChange: (queue: Queue, kind: Change["kind"]) => void;
}

function Row({ queue, workers, isChosen, onChange }: RowProps) {
  const name = queue.queue;
  return (
    <tr class={isChosen ? "chosen" : undefined}>
      <td class="name">
        <a href={link(["queues", name])} aria-current={isChosen ? "true" : undefined}><bdi>{name}</bdi></a>
        {queue.paused && <span class="status is-paused"><span aria-hidden="true">Ⅱ</span>paused</span>}
      </td>
      <td data-label="Held"><Gauge used={queue.held} most={queue.concurrency} label={`Held of ${name}`} /></td>
      <td data-label="Ready" class="ready">{queue.ready.toLocaleString()}</td>
      <td class="spark" data-label="Ready lately">
        <Sparkline samples={samples.of(name).value} of="ready" width={140} height={26} spanMs={spanMs()}
          label={`Ready in ${name}`} />
      </td>
      <td data-label="Oldest ready"><Age since={queue.oldest} /></td>
      <td data-label="Later" class="number">{queue.later.toLocaleString()}</td>
      <td data-label="Workers"><Serving queue={queue} workers={workers} /></td>
      <td data-label="Limits"><Limits queue={queue} /></td>
      {mayLimit() && (
        <td class="row-actions">
          <button type="button" aria-label={`Limit ${name}`} onClick={() => onChange(queue, "limit")}>Limit…</button>
          <button type="button" aria-label={`${queue.paused ? "Resume" : "Pause"} ${name}`}
            onClick={() => onChange(queue, "pause")}>{queue.paused ? "Resume…" : "Pause…"}</button>
        </td>
      )}
    </tr>
  );
}
