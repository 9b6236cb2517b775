import type { Hook } from "../../api/types";
import { Status } from "../../parts/status";
import { Age, Time } from "../../parts/time";
import { link } from "../../router";
import { Standing } from "./standing";
import { occasions } from "./words";

interface Props {
  hooks: Hook[];
  chosen: number;
}

export function HookTable({ hooks, chosen }: Props) {
  return (
    <table class="list cards hooks">
      <thead>
        <tr>
          <th scope="col">Hook</th><th scope="col">State</th><th scope="col">When</th><th scope="col">To</th>
          <th scope="col">Waiting</th><th scope="col">Parked</th><th scope="col">Delivered</th>
          <th scope="col">Last</th>
        </tr>
      </thead>
      <tbody>
        {hooks.map((hook, index) => (
          <Row key={hook.name} hook={hook} index={index} isChosen={index === chosen} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  hook: Hook;
  index: number;
  isChosen: boolean;
}

function Row({ hook, index, isChosen }: RowProps) {
  return (
    <tr data-row={index} class={isChosen ? "chosen" : undefined}>
      <td class="name"><a href={link(["hooks", hook.name])}><bdi>{hook.name}</bdi></a></td>
      <td><Standing hook={hook} /></td>
      <td class="wide" data-label="When"><Occasions hook={hook} /></td>
      <td class="wide target" data-label="To"><Target hook={hook} /></td>
      <td data-label="Waiting"><Waiting hook={hook} /></td>
      <td data-label="Parked"><Parked count={hook.parked} /></td>
      <td data-label="Delivered" title="In the last seven days">{hook.delivered.toLocaleString()}</td>
      <td data-label="Last"><LastNotice of={hook} /></td>
    </tr>
  );
}

// What it is about, in the words of `--on`, `--graph` and `--tag`.
function Occasions({ hook }: { hook: Hook }) {
  return (
    <span class="occasions">
      {hook.on.map((one) => <span key={one} title={occasions[one]}>{one}</span>)}
      {hook.graph !== undefined && <a href={link(["graph", hook.graph])}><bdi>{hook.graph}</bdi></a>}
      {Object.entries(hook.tags).map(([key, value]) => (
        <span class="tag" key={key}><bdi>{key}={value}</bdi></span>
      ))}
    </span>
  );
}

function Target({ hook }: { hook: Hook }) {
  const text = hook.url ?? hook.command ?? "";
  return <bdi title={text}>{text}</bdi>;
}

function Parked({ count }: { count: number }) {
  if (count === 0) return <span class="muted">0</span>;
  return <strong class="is-parked">{count.toLocaleString()}</strong>;
}

function Waiting({ hook }: { hook: Hook }) {
  if (hook.waiting === 0) return <span class="muted">0</span>;
  return <span class="waiting">{hook.waiting.toLocaleString()} <span class="since">for <Age since={hook.oldest_at} />
  </span></span>;
}

function LastNotice({ of: { last } }: { of: Hook }) {
  if (last === null) return <span class="muted">none</span>;
  const { status, noted_at, settled_at, says, attempts } = last;
  return (
    <span class="last-notice" title={says}>
      <Status of={status} /> <Time at={settled_at ?? noted_at} />
      {status === "waiting" && attempts > 0 && <span class="muted">{attempts} failed</span>}
    </span>
  );
}
