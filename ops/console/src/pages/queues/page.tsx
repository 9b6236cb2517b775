// The queues of all workers: what waits, what is held, since when, and what is set for them.
import { useSignal } from "@preact/signals";
import { useResource } from "../../api/resource";
import type { Queue } from "../../api/types";
import { useKeys } from "../../keys";
import { Empty, Read } from "../../parts/states";
import { go, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { QueueChange, type Change } from "./change";
import { OneQueue } from "./one_queue";
import { QueueTable } from "./queue_table";
import { everyMs, readQueues, type Reading } from "./reading";

export function Page() {
  const chosen = route.value.rest[0];
  const reading = useResource<Reading>("queues", readQueues, everyMs);
  const change = useSignal<Change | undefined>(undefined);
  useCommandLines(...linesOf(reading.data.value?.queues.find((one) => one.queue === chosen)));
  return (
    <>
      <div class="page-head"><h1>Queues</h1><Counts reading={reading.data.value} /></div>
      <Read from={reading}>
        {(found) => (
          <Queues reading={found} chosen={chosen} onChange={(queue, kind) => (change.value = { queue, kind })} />
        )}
      </Read>
      {change.value !== undefined && (
        <QueueChange change={change.value} onClose={() => {
          change.value = undefined;
          reading.reload();
        }} />
      )}
    </>
  );
}

// Of one for which something was set, what it was.
function linesOf(queue: Queue | undefined): [string, string] {
  if (queue === undefined || queue.revision === 0) return [curlLine("queues"), "cairn queue"];
  return [curlLine(`queues/${encodeURIComponent(queue.queue)}/history`), `cairn queue history ${quoted(queue.queue)}`];
}

function Counts({ reading }: { reading: Reading | undefined }) {
  if (reading === undefined || reading.queues.length === 0) return null;
  const sum = (of: "ready" | "held" | "later") => reading.queues.reduce((total, one) => total + one[of], 0);
  return <span class="muted">{sum("held")} held, {sum("ready")} ready, {sum("later")} later</span>;
}

interface QueuesProps {
  reading: Reading;
  chosen: string | undefined;
  onChange: (queue: Queue, kind: Change["kind"]) => void;
}

function Queues({ reading, chosen, onChange }: QueuesProps) {
  const { queues, workers } = reading;
  const at = queues.findIndex((one) => one.queue === chosen);
  const open = (index: number) => {
    const queue = queues[Math.min(Math.max(index, 0), queues.length - 1)];
    if (queue !== undefined) go(["queues", queue.queue]);
  };
  useKeys([
    { keys: "j", says: "Next queue", act: () => open(at + 1) },
    { keys: "k", says: "Queue before", act: () => open(at - 1) },
  ], [queues, at]);
  if (queues.length === 0 && chosen === undefined)
    return (
      <Empty title="No queue holds anything">
        <p>A queue is here while steps wait in it or are held, or when something is set for it:</p>
        <pre>cairn queue set model --concurrency 4</pre>
      </Empty>
    );
  return (
    <>
      <QueueTable queues={queues} workers={workers} chosen={chosen} onChange={onChange} />
      {chosen !== undefined && <OneQueue key={chosen} name={chosen} queue={queues[at]} workers={workers} />}
    </>
  );
}
