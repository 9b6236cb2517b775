// What a run is, why it does not go on, and what can be done with it.
import { useSignal } from "@preact/signals";
import { may, post } from "../../api/client";
import type { Controlled, Reason } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { JsonTree } from "../../parts/json_tree";
import { Status } from "../../parts/status";
import { Lasted, Time, Timed } from "../../parts/time";
import { go, link } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { say, sayRefusal } from "../../shell/notices";
import { ForkDialog } from "./fork_dialog";
import { useRun } from "./moment";

type Command = "pause" | "resume" | "cancel" | "retry";

const capital = (command: Command) => command[0]!.toUpperCase() + command.slice(1);

interface CommandProps {
  command: Command;
  onGive: (reason: string) => void;
  onClose: () => void;
}

// Asks for what is to stand on record with a command.
function CommandDialog({ command, onGive, onClose }: CommandProps) {
  const reason = useSignal("");
  const title = `${capital(command)} the run`;
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="answer" onSubmit={(event) => {
        event.preventDefault();
        onGive(reason.value);
        onClose();
      }}>
        <label>Reason, for the record
          <input type="text" maxLength={500} value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class={command === "cancel" ? "danger" : "primary"}>{title}</button>
      </form>
    </Dialog>
  );
}

function Actions() {
  const view = useRun();
  const forkAt = useSignal<number | undefined>(undefined);
  const asked = useSignal<Command | undefined>(undefined);
  const isBusy = useSignal(false);
  const status = view.head.value!.status;
  const isAtEnd = view.isOver.value && view.at.value === view.last.value;
  const act = async (command: Command, reason: string) => {
    isBusy.value = true;
    try {
      const done = await post<Controlled>(`runs/${view.run}/${command}`, reason === "" ? {} : { reason });
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
  const commands: Command[] = view.last.value === 0 ? ["cancel"] : view.isOver.value
    ? status === "failed" ? ["retry"] : []
    : status === "paused" ? ["resume", "cancel"] : ["pause", "cancel"];
  return (
    <div class="actions">
      {may("operate") && commands.map((command) => (
        <button type="button" key={command} disabled={isBusy.value} class={command === "cancel" ? "danger" : ""}
          onClick={() => (asked.value = command)}>
          {capital(command)}…
        </button>
      ))}
      {may("run") && view.last.value > 0 && (
        <button type="button" class="primary" disabled={isAtEnd}
          title={isAtEnd ? "The run ended here: move the slider to an event before" : undefined}
          onClick={() => (forkAt.value = view.at.value)}>
          Fork from event {view.at.value.toLocaleString()}
        </button>
      )}
      {asked.value !== undefined && (
        <CommandDialog command={asked.value} onClose={() => (asked.value = undefined)}
          onGive={(reason) => void act(asked.value!, reason)} />
      )}
      {forkAt.value !== undefined && <ForkDialog at={forkAt.value} onClose={() => (forkAt.value = undefined)} />}
    </div>
  );
}

function ReasonLine({ reason }: { reason: Reason }) {
  const place = reason.node === null ? "" : `${reason.node}, step ${reason.step}: `;
  const times = [reason.since, reason.deadline, reason.last_beat, reason.expires_at, reason.due, reason.at];
  return (
    <li>
      <bdi>{place}<Timed text={reason.says} times={times} /></bdi>
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
      {view.isOver.value && view.head.value!.reason && <li><bdi>{view.head.value!.reason}</bdi></li>}
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

// A run whose start waits: it has no event, and so nothing to look at but what it was asked for with.
export function NotBegun() {
  const run = useRun().head.value!;
  useCommandLines(curlLine(`runs/${run.run}`), `cairn show ${run.run}`);
  return (
    <div class="run">
      <header class="run-head">
        <div class="run-title">
          <h1><bdi>{run.graph}</bdi></h1>
          <Status of={run.status} />
          <Actions />
        </div>
        <p class="run-facts muted"><code>{run.run}</code><span>asked for <Time at={run.started_at} /></span></p>
        <p>It has not begun. Its start waits <bdi>{run.begins}</bdi>.</p>
      </header>
      <section class="card" aria-label="Input"><h2>Input</h2><JsonTree value={run.input} open={3} /></section>
    </div>
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
        {view.isOver.value && <a href={link(["proof"], { do: "blame", run: run.run })}>what it depends on</a>}
      </p>
      <Explained />
    </header>
  );
}
