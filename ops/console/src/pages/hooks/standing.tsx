// Whether a hook sends, and who would.
import type { Hook } from "../../api/types";
import { Status } from "../../parts/status";
import { now } from "../../parts/time";
import { isLate, standingOf } from "./words";

export function Standing({ hook }: { hook: Hook }) {
  return (
    <span class="standing">
      <Status of={standingOf(hook)} />
      {isLate(hook, now.value) && <span class="is-soon" title="No process has taken what is due.">late</span>}
    </span>
  );
}

export function Senders({ hook: { secret } }: { hook: Hook }) {
  const programs = <><code>cairn work</code> or <code>cairn serve</code></>;
  if (secret === undefined) return <>A {programs} sends it.</>;
  return <>A {programs} sends it that has the secret <code>{secret}</code> in its tools file.</>;
}
