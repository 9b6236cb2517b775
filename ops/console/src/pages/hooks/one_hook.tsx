// One hook: what it sends, its notices with what was answered, what happened to it, and what can be done with it.
import { useSignal } from "@preact/signals";
import { get, may } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Hook, HookNote } from "../../api/types";
import { Read } from "../../parts/states";
import { Age, now, Time } from "../../parts/time";
import { link } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { ActionDialog, actions, type Action, type ActionName } from "./actions";
import { HookDialog } from "./definition";
import { Deliveries } from "./deliveries";
import { HookHistory, NoteTable } from "./history";
import { Senders, Standing } from "./standing";
import { TestDialog } from "./test_dialog";
import { isLate, sentence, span } from "./words";

export function OneHook({ name }: { name: string }) {
  const path = `hooks/${encodeURIComponent(name)}`;
  const hook = useResource<Hook>("hook", (signal) => get<Hook>(path, {}, signal), 2000);
  const refusal = hook.error.value;
  return (
    <>
      {hook.data.value === undefined && <h1><bdi>{name}</bdi></h1>}
      <Read from={hook}>{(found) => <Found hook={found} path={path} onChange={hook.reload} />}</Read>
      {refusal?.code === "not_found" && hook.data.value === undefined && <Past name={name} path={path} />}
    </>
  );
}

// The history of a hook that was removed stays; where there was none of that name, there is nothing.
function Past({ name, path }: { name: string; path: string }) {
  const notes = useResource<HookNote[]>("past", (signal) => get<HookNote[]>(`${path}/history`, {}, signal));
  useCommandLines(curlLine(`${path}/history`), `cairn hook history ${quoted(name)}`);
  if (notes.data.value === undefined) return null;
  return <section aria-label="History"><h2>History</h2><NoteTable notes={notes.data.value} /></section>;
}

interface FoundProps {
  hook: Hook;
  path: string;
  onChange: () => void;
}

type Offered = Exclude<ActionName, "skip"> | "test" | "edit";

const buttons: Record<Offered, string> = {
  test: "Send a test…", edit: "Edit…", pause: actions.pause.button, resume: actions.resume.button,
  resend: actions.resend.button, remove: actions.remove.button,
};

function offered(hook: Hook): Offered[] {
  const sends: Offered[] = ["test", hook.paused === null ? "pause" : "resume"];
  if (hook.parked > 0) sends.push("resend");
  return [...(may("operate") ? sends : []), ...(may("admin") ? ["edit", "remove"] as const : [])];
}

function Found({ hook, path, onChange }: FoundProps) {
  const dialog = useSignal<"test" | "edit" | Action | undefined>(undefined);
  const changes = useSignal(0); // after one, the notices and the history are read again
  const close = () => (dialog.value = undefined);
  const done = () => {
    close();
    changes.value += 1;
    onChange();
  };
  const open = (name: Offered) => (dialog.value = name === "test" || name === "edit" ? name : { name });
  return (
    <>
      <div class="page-head">
        <h1><bdi>{hook.name}</bdi></h1>
        <Standing hook={hook} />
      </div>
      <p class="hook-words"><bdi>{sentence(hook.words)}</bdi></p>
      <Notes hook={hook} />
      {offered(hook).length > 0 && (
        <div class="buttons hook-actions">
          {offered(hook).map((name) => (
            <button key={name} type="button" onClick={() => open(name)}>{buttons[name]}</button>
          ))}
        </div>
      )}
      <Deliveries hook={hook} path={path} stamp={`${changes.value}`} onChange={onChange}
        onSkip={(event) => (dialog.value = { name: "skip", event })} />
      <div class="hook-parts">
        <HookHistory path={path} stamp={`${changes.value}/${hook.paused?.at ?? ""}/${hook.parked}`} />
        <Definition hook={hook} />
      </div>
      {dialog.value === "test" && <TestDialog hook={hook} path={path} onClose={done} />}
      {dialog.value === "edit" && <HookDialog hook={hook} onClose={close} onDone={done} />}
      {typeof dialog.value === "object" && (
        <ActionDialog action={dialog.value} hook={hook} onClose={close} onDone={done} />
      )}
    </>
  );
}

// Why it sends nothing, or sends late.
function Notes({ hook }: { hook: Hook }) {
  return (
    <>
      {hook.paused !== null && (
        <p class="hook-paused">Paused <Time at={hook.paused.at} /> by <bdi>{hook.paused.by}</bdi>
          {hook.paused.reason !== "" && <>: <bdi>{hook.paused.reason}</bdi></>}</p>
      )}
      {isLate(hook, now.value) && (
        <p class="hook-late">A notice has been due for <Age since={hook.due_since} />, and no process has taken it.{" "}
          <Senders hook={hook} /></p>
      )}
    </>
  );
}

function Definition({ hook }: { hook: Hook }) {
  const isSent = hook.url !== undefined;
  const rows: [string, string][] = [
    [isSent ? "Sends to" : "Runs", hook.url ?? hook.command ?? ""],
    ["When", hook.on.join(", ")],
    ["Tags", Object.entries(hook.tags).map(([key, value]) => `${key}=${value}`).join(", ")],
    ["Signed", isSent ? hook.secret === undefined ? "no" : `with the secret ${hook.secret}` : ""],
    ["In order", hook.ordered ? "of one run, each after the one before" : ""],
    ["Private", hook.private ? "the URL may lead to a private network" : ""],
    ["Stands still", hook.stalled_after_ms === undefined ? "" : `after ${span(hook.stalled_after_ms)}`],
    ["Attempts", `${hook.attempts}, then it is parked`],
    ["Pauses", `${span(hook.backoff_ms)}, three times as long after each failure`],
    ["Answer", `within ${span(hook.timeout_ms)}`],
  ];
  return (
    <section class="card" aria-label="Definition">
      <h2>Definition</h2>
      <dl class="abilities">
        {hook.graph !== undefined && (
          <div><dt>Graph</dt><dd><a href={link(["graph", hook.graph])}><bdi>{hook.graph}</bdi></a></dd></div>
        )}
        {rows.filter(([, text]) => text !== "").map(([title, text]) => (
          <div key={title}><dt>{title}</dt><dd><bdi>{text}</bdi></dd></div>
        ))}
        <div><dt>Added</dt><dd><Time at={hook.created_at} /></dd></div>
      </dl>
    </section>
  );
}
