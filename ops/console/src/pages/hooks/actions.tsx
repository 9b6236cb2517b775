// What can be done with a hook besides an edit and a test: each is asked for in a dialog and says what came of it.
import { address, post, send } from "../../api/client";
import type { Hook, HookResent, Json } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form/form";
import { Sure } from "../../parts/sure";
import { go } from "../../router";
import { curlLine, quoted } from "../../shell/command_lines";
import { say } from "../../shell/notices";

export type ActionName = "pause" | "resume" | "resend" | "skip" | "remove";

export interface Action {
  name: ActionName;
  event?: string; // of the notice that is passed over
}

interface Words {
  button: string;
  title: string;
  says: (hook: Hook) => string;
}

const reason = { type: "object", properties: { reason: { type: "string", maxLength: 500 } } };

export const actions: Record<ActionName, Words> = {
  pause: {
    button: "Pause…", title: "Pause",
    says: () => "Nothing is sent until it is resumed. What happens meanwhile waits, and is sent then.",
  },
  resume: {
    button: "Resume…", title: "Resume",
    says: ({ waiting }) => `What waits is sent: ${waiting === 1 ? "1 notice" : `${waiting.toLocaleString()} notices`}.`,
  },
  resend: {
    button: "Send parked again…", title: "Send parked again",
    says: ({ parked, attempts }) =>
      `${parked === 1 ? "1 notice" : `${parked.toLocaleString()} notices`} will be sent again, ` +
      `with ${attempts} ${attempts === 1 ? "attempt" : "attempts each"}.`,
  },
  skip: {
    button: "Pass over…", title: "Pass over",
    says: ({ ordered }) => `It is not sent.${ordered ? " Later ones of its run are no longer held back." : ""}`,
  },
  remove: {
    button: "Remove…", title: "Remove",
    says: ({ waiting, parked }) =>
      `It sends nothing more, and what waits or is parked goes with it: ${(waiting + parked).toLocaleString()}. ` +
      "What is on record of it stays.",
  },
};

interface Props {
  action: Action;
  hook: Hook;
  onClose: () => void;
  onDone: () => void;
}

export function ActionDialog({ action: { name, event }, hook, onClose, onDone }: Props) {
  const { title, says } = actions[name];
  const path = `hooks/${encodeURIComponent(hook.name)}`;
  const act = async (value: Json) => {
    if (name === "remove") {
      await send(address(path), { method: "DELETE" });
      say(`The hook ${hook.name} is removed.`);
      go(["hooks"]);
      return;
    }
    const answer = await post<Hook | HookResent>(`${path}/${name}`, value);
    say(name === "skip" ? `${event} will not be sent.`
      : "resent" in answer ? `${answer.resent.toLocaleString()} will be sent again.`
      : `The hook ${hook.name} is ${name}d.`);
    onDone();
  };
  const body = name === "skip" ? { event } : name === "resend" ? {} : undefined;
  const commands = name === "remove" ? `cairn hook remove ${quoted(hook.name)}`
    : `cairn hook ${name} ${quoted(hook.name)}${event === undefined ? "" : ` ${quoted(event)}`}\n` +
      curlLine(`${path}/${name}`, {}, body ?? {});
  return (
    <Dialog title={`${title}: ${hook.name}`} onClose={onClose}>
      {event !== undefined && <p><code><bdi>{event}</bdi></code></p>}
      <p>{says(hook)}</p>
      {name === "pause" ? <SchemaForm schema={reason} action={title} send={act} />
        : <Sure title={title} act={() => act(body)} />}
      <pre class="as-commands" tabIndex={0} aria-label="As commands">{commands}</pre>
    </Dialog>
  );
}
