// What a run is, why it does not go on, and what can be done with it.
import { useSignal } from "@preact/signals";
import { may, post } from "../../api/client";
import type { Controlled, Reason } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { Status } from "../../parts/status";
import { Lasted, Time } from "../../parts/time";
import { go, link } from "../../router";
import { say, sayRefusal } from "../../shell/notices";
import { ForkDialog } from "./fork_dialog";
import { useRun } from "./moment";

type Command = "pause" | "resume" | "cancel" | "retry";

// A run that is cancelled does not come back: it is asked for first.
function CancelDialog({ onCancel, onClose }: { onCancel: (reason: string) => void; onClose: () => void }) {
  const reason = useSignal("");
  return (
    <Dialog title="Cancel the run" onClose={onClose}>
      <form class="answer" onSubmit={(event) => {
        event.preventDefault();
        onCancel(reason.value);
        onClose();
      }}>
        <label>Reason
          <input type="text" maxLength={500} value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="danger">Cancel the run</button>
      </form>
    </Dialog>
  );
}

function Actions() {
  const view = useRun();
  const isForking = useSignal(false);
  const isCancelling = useSignal(false);
  const isBusy = useSignal(false);
  const status = view.head.value!.status;
  const act = async (command: Command, body: Record<string, unknown> = {}) => {
    isBusy.value = true;
    try {
      const done = await post<Controlled>(`runs/${view.run}/${command}`, body);
      if (done.run !== view.run) {
        say(`A fork goes on from event ${done.forked_at}.`);
        go(["run", done.run]);
      } else {
        say(`The run is ${done.status}.`);
      }
      await view.readHead();
    } catch (refusal) {
      sayRefusal(refusal);
    }
    isBusy.value = false;
  };
  const commands: Command[] = view.isOver.value
    ? status === "failed" ? ["retry"] : []
    : status === "paused" ? ["resume", "cancel"] : ["pause", "cancel"];
  return (
    <div class="actions">
      {may("operate") && commands.map((command) => (
        <button type="button" key={command} disabled={isBusy.value} class={command === "cancel" ? "danger" : ""}
          onClick={() => (command === "cancel" ? (isCancelling.value = true) : void act(command))}>
          {command[0]!.toUpperCase() + command.slice(1)}
        </button>
      ))}
      {may("run") && (
        <button type="button" class="primary" onClick={() => (isForking.value = true)}>
          Fork from event {view.at.value.toLocaleString()}
        </button>
      )}
      {isCancelling.value && (
        <CancelDialog onClose={() => (isCancelling.value = false)}
          onCancel={(reason) => void act("cancel", reason === "" ? {} : { reason })} />
      )}
      {isForking.value && <ForkDialog onClose={() => (isForking.value = false)} />}
    </div>
  );
}

function ReasonLine({ reason }: { reason: Reason }) {
  const place = reason.node === null ? "" : `${reason.node}, step ${reason.step}: `;
  return (
    <li>
      <bdi>{place}{reason.says}</bdi>
      {reason.child !== undefined && <> <a href={link(["run", reason.child])}>The run it waits for</a></>}
    </li>
  );
}

// Why the run is where it is: of now, as no other moment has an explanation.
function Explained() {
  const view = useRun();
  const reasons = view.explanation.value?.reasons ?? [];
  const cause = view.head.value!.cause;
  if (!view.isNow.value) return null;
  if (view.isOver.value && cause === undefined && !view.head.value!.reason) return null;
  return (
    <ul class={`explained is-${view.head.value!.status}`} aria-label="Why">
      {view.head.value!.reason && <li><bdi>{view.head.value!.reason}</bdi></li>}
      {cause !== undefined && (
        <li>
          <bdi>{cause.node}, step {cause.step}, attempt {cause.attempt}: {cause.error}: {cause.message}</bdi>
        </li>
      )}
      {!view.isOver.value && reasons.slice(0, 8).map((reason, index) => <ReasonLine key={index} reason={reason} />)}
      {reasons.length > 8 && <li class="muted">and {reasons.length - 8} more</li>}
    </ul>
  );
}

export function RunHead() {
  const view = useRun();
  const run = view.head.value!;
  const shown = view.shown.value ?? run;
  return (
    <header class="run-head">
      <div class="run-title">
        <h1><bdi>{run.graph}</bdi></h1>
        <Status of={shown.status} />
        {!view.isNow.value && shown.status !== run.status && <span class="muted">now {run.status}</span>}
        <Actions />
      </div>
      <p class="run-facts muted">
        <code>{run.run}</code>
        <span>started <Time at={run.started_at} /></span>
        <span>{view.isOver.value ? "lasted" : "for"} <Lasted from={run.started_at}
          to={view.isOver.value ? run.updated_at : undefined} /></span>
        {run.key && <span>key <bdi>{run.key}</bdi></span>}
        {Object.entries(run.tags).map(([key, value]) => (
          <a key={key} class="tag" href={link(["runs"], { where: `tag.${key}=${value.replaceAll(",", "\\,")}` })}>
            <bdi>{key}={value}</bdi>
          </a>
        ))}
        {run.parent && <a href={link(["run", run.parent])}>called by another run</a>}
        {run.continues && <a href={link(["run", run.continues])}>continues another run</a>}
        {run.forked_from !== undefined && (
          <a href={link(["compare", run.forked_from.run, run.run])}>
            forked at event {run.forked_from.seq}: compare
          </a>
        )}
        <a href={link(["proof"], { do: "verify", run: run.run })}>verify its history</a>
      </p>
      <Explained />
    </header>
  );
}
