// The limits or a pause of a queue, which hold for all workers, with the numbers that they are about.
import { useSignal } from "@preact/signals";
import { post, type Refusal } from "../../api/client";
import type { Queue } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { say } from "../../shell/notices";
import { curlLine, quoted } from "../../shell/command_lines";
import { LimitFields } from "./limit_fields";
import { askedLimits, limitTexts, limitWords, optionsOf, type Asked } from "./limits";

export interface Change {
  queue: Queue;
  kind: "limit" | "pause";
}

export function QueueChange({ change, onClose }: { change: Change; onClose: () => void }) {
  const { queue, kind } = change;
  const texts = useSignal(limitTexts(queue));
  const says = useSignal("");
  const isBusy = useSignal(false);
  const asked: Asked | string = kind === "pause" ? { paused: !queue.paused } : askedLimits(queue, texts.value);
  const path = `queues/${encodeURIComponent(queue.queue)}`;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (typeof asked === "string") {
      says.value = asked;
      return;
    }
    isBusy.value = true;
    try {
      const limits = await post<Queue>(path, asked);
      say(`Queue ${queue.queue}: ${limitWords(limits)}.`);
      onClose();
    } catch (refusal) {
      says.value = (refusal as Refusal).message;
      isBusy.value = false;
    }
  };
  const verb = kind === "limit" ? "Limit" : queue.paused ? "Resume" : "Pause";
  return (
    <Dialog title={`${verb} ${queue.queue}`} onClose={onClose}>
      <form class="queue-change" noValidate onInput={() => (says.value = "")} onSubmit={(event) => void submit(event)}>
        {kind === "pause" ? <p>{pauseSentence(queue)}</p> : <LimitFields texts={texts} />}
        <p class="refusal" role="alert">{says.value}</p>
        {typeof asked !== "string" && (
          <pre tabIndex={0} aria-label="As commands">
            {`cairn queue set ${quoted(queue.queue)} ${optionsOf(asked, quoted)}\n`}{curlLine(path, {}, asked)}</pre>
        )}
        <div class="buttons"><button type="submit" class="primary" disabled={isBusy.value}>{verb}</button></div>
      </form>
    </Dialog>
  );
}

function pauseSentence(queue: Queue): string {
  const waiting = queue.ready + queue.later;
  const steps = waiting === 1 ? "1 step waits" : `${waiting.toLocaleString()} steps wait`;
  if (queue.paused) return `Workers begin with its steps again: ${steps}.`;
  return `Nothing more of it is begun by any worker: ${steps}. What is held goes on: ${queue.held}.`;
}
