// Two runs, or two moments of one, side by side: what `cairn diff` says.
import type { ComponentChildren } from "preact";
import { get } from "../../api/client";
import { useFollowed } from "../../api/resource";
import type { Change, Difference, Event } from "../../api/types";
import { JsonTree } from "../../parts/json_tree";
import { Bare, Empty, Read } from "../../parts/states";
import { useWalk } from "../../parts/walk";
import { shortId, Status } from "../../parts/status";
import { duration } from "../../parts/time";
import { amend, isRun, link, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { typeWords, wordsOf } from "../run/event_words";

export function Page() {
  const [a, b] = route.value.rest;
  if (a === undefined || !isRun(a) || (b !== undefined && !isRun(b)))
    return <Bare title="Compare"><Empty title="No runs are named" /></Bare>;
  return <Compared a={a} b={b ?? a} />;
}

function Compared({ a, b }: { a: string; b: string }) {
  const at = route.value.query.get("at") ?? undefined;
  const withAt = route.value.query.get("with_at") ?? undefined;
  const query = { with: b === a ? undefined : b, at: at ?? (a === b ? "1" : undefined), with_at: withAt };
  const pair = `compare ${a} ${b}`; // stays while another moment is asked for, which may be refused
  const read = useFollowed<Difference>(pair, `${pair} ${at} ${withAt}`, (signal) =>
    get<Difference>(`runs/${a}/diff`, query, signal), 5000);
  const isStuck = read.data.value === undefined && read.error.value !== undefined && (at ?? withAt) !== undefined;
  const option = (name: string, seq: string | undefined) => (seq === undefined ? "" : ` --${name} ${seq}`);
  const moments = option("from", query.at) + option("to", withAt);
  useWalk(".compared", "part");
  useCommandLines(curlLine(`runs/${a}/diff`, query), `cairn diff ${a}${a === b ? "" : ` ${b}`}${moments}`);
  return (
    <>
      <h1>Compare</h1>
      <Read from={read}>{(found) => <Whole found={found} />}</Read>
      {isStuck && <p class="more"><a href={link(["compare", a, b])}>Compare them at their last events</a></p>}
    </>
  );
}

function Side({ side, name }: { side: Difference["a"]; name: "at" | "with_at" }) {
  return (
    <div class="card side">
      <p><Status of={side.status} /> <a href={link(["run", side.run], { at: side.seq })}>{shortId(side.run)}</a></p>
      <dl class="facts">
        <div><dt>Event</dt><dd>
          <input key={side.seq} type="number" min={1} defaultValue={String(side.seq)}
            aria-label={`Event of ${shortId(side.run)}`}
            onChange={(event) => amend({ [name]: event.currentTarget.value })} />
        </dd></div>
        <div><dt>Lasted</dt><dd class="number">{duration(side.ms)}</dd></div>
        <div><dt>Cost</dt><dd class="number">{side.cost.toPrecision(3)}</dd></div>
      </dl>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="compared" aria-label={title} tabIndex={-1}><h2>{title}</h2>{children}</section>;
}

function Value({ value, kind }: { value: unknown; kind: "removed" | "added" }) {
  if (value === undefined) return <td class="muted">none</td>;
  return <td class={kind}><JsonTree value={value} open={3} /></td>;
}

function Changes({ title, changes }: { title: string; changes: Change[] }) {
  if (changes.length === 0) return null;
  return (
    <Part title={`${title} (${changes.length})`}>
      <table class="list changes">
        <thead><tr><th scope="col">Place</th><th scope="col">Left</th><th scope="col">Right</th></tr></thead>
        <tbody>{changes.map((change) => (
          <tr key={change.path}>
            <td><code><bdi>{change.path}</bdi></code></td>
            <Value value={change.a} kind="removed" />
            <Value value={change.b} kind="added" />
          </tr>
        ))}</tbody>
      </table>
    </Part>
  );
}

function OneEvent({ event }: { event: Event | null }) {
  if (event === null) return <p class="muted">No further event.</p>;
  return (
    <p>
      <a href={link(["run", event.run], { at: event.seq, view: "events" })}>{event.seq}</a>{" "}
      <strong>{typeWords(event.type)}</strong> <bdi>{wordsOf(event)}</bdi>
    </p>
  );
}

function Decisions({ found }: { found: Difference }) {
  const { a, b } = found.decisions;
  if (a.length === 0 && b.length === 0) return null;
  return (
    <Part title="Decisions">
      <div class="two">
        {[a, b].map((events, side) => (
          <div key={side}>{events.length === 0 ? <p class="muted">None.</p> :
            events.map((event) => <OneEvent key={event.seq} event={event} />)}</div>
        ))}
      </div>
    </Part>
  );
}

function Whole({ found }: { found: Difference }) {
  return (
    <>
      <div class="two">
        <Side side={found.a} name="at" />
        <Side side={found.b} name="with_at" />
      </div>
      {found.same && <p class="same">Both came to the same.</p>}
      {found.first !== null && (
        <Part title="The first event that differs">
          <div class="two">
            <OneEvent event={found.first.a} />
            <OneEvent event={found.first.b} />
          </div>
        </Part>
      )}
      <Changes title="Channels" changes={found.channels} />
      <Changes title="Plan" changes={found.plan} />
      <Changes title="Budgets" changes={found.budgets} />
      <Changes title="Questions" changes={found.questions} />
      <Decisions found={found} />
    </>
  );
}
