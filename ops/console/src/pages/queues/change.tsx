// A limit or a pause of a queue, which holds for all workers, with the numbers that it is about.
import { useSignal } from "@preact/signals";
import { post, type Refusal } from "../../api/client";
import type { Queue } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { say } from "../../shell/notices";
import { curlLine, quoted } from "../../shell/command_lines";

export interface Change {
  queue: Queue;
  kind: "limit" | "pause";
}

const concurrencyMax = 1_000_000;

interface Asked {
  concurrency?: number | null;
  paused?: boolean;
}

// The change as a body and as a command; a sentence where it is none.
function askedOf({ queue, kind }: Change, text: string): { body: Asked; options: string } | string {
  if (kind === "pause") return { body: { paused: !queue.paused }, options: queue.paused ? "--resume" : "--pause" };
  if (text.trim() === "") return { body: { concurrency: null }, options: "--concurrency none" };
  const concurrency = Number(text);
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax)
    return `A whole number from 1 to ${concurrencyMax.toLocaleString()}, or nothing for no limit.`;
  return { body: { concurrency }, options: `--concurrency ${concurrency}` };
}

export function QueueChange({ change, onClose }: { change: Change; onClose: () => void }) {
  const { queue, kind } = change;
  const text = useSignal(queue.concurrency === null ? "" : String(queue.concurrency));
  const says = useSignal("");
  const isBusy = useSignal(false);
  const asked = askedOf(change, text.value);
  const path = `queues/${encodeURIComponent(queue.queue)}`;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (typeof asked === "string") {
      says.value = asked;
      return;
    }
    isBusy.value = true;
    try {
      await post(path, asked.body);
      say(`Queue ${queue.queue}: ${words(asked.body)}.`);
      onClose();
    } catch (refusal) {
      says.value = (refusal as Refusal).message;
      isBusy.value = false;
    }
  };
  const verb = kind === "limit" ? "Limit" : queue.paused ? "Resume" : "Pause";
  return (
    <Dialog title={`${verb} ${queue.queue}`} onClose={onClose}>
      <form class="queue-change" noValidate onSubmit={(event) => void submit(event)}>
        {kind === "pause" ? <p>{pauseSentence(queue)}</p> : (
          <label>Steps held at once, over all workers
            <input type="text" inputMode="numeric" class="short" placeholder="no limit" value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)} />
          </label>
        )}
        <p class="refusal" role="alert">{says.value}</p>
        {typeof asked !== "string" && (
          <pre tabIndex={0} aria-label="As commands">{`cairn queue set ${quoted(queue.queue)} ${asked.options}\n`}
            {curlLine(path, {}, asked.body)}</pre>
        )}
        <div class="buttons"><button type="submit" class="primary" disabled={isBusy.value}>{verb}</button></div>
      </form>
    </Dialog>
  );
}

const words = (body: Asked) =>
  body.paused !== undefined ? (body.paused ? "paused" : "it goes on")
    : body.concurrency === null ? "no limit" : `at most ${body.concurrency} held at once`;

function pauseSentence(queue: Queue): string {
  const waiting = queue.ready + queue.later;
  const steps = waiting === 1 ? "1 step waits" : `${waiting.toLocaleString()} steps wait`;
  if (queue.paused) return `Workers begin with its steps again: ${steps}.`;
  return `Nothing more of it is begun by any worker: ${steps}. What is held goes on: ${queue.held}.`;
}
