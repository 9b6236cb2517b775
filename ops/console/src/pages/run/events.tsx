// The events in words. The list stands at the slider's event; a row that is chosen moves it there. Below it is that
// event with all its fields.
import { useMemo } from "preact/hooks";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Event } from "../../api/types";
import { useKeys } from "../../keys";
import { JsonTree } from "../../parts/json_tree";
import { Rows } from "../../parts/rows";
import { Read } from "../../parts/states";
import { exactTime } from "../../parts/time";
import { amend, route } from "../../router";
import { actorOf, typeWords, wordsOf } from "./event_words";
import { useRun, type RunView } from "./moment";

const height = 30;
const digits = new Intl.NumberFormat();
const kinds: Record<string, (type: string, isFailure: boolean) => boolean> = {
  all: () => true,
  failures: (_, isFailure) => isFailure,
  decisions: (type) => /^(decision|verification|replan|contingency|loop|guardrail)/.test(type),
  plan: (type) => /^(plan|sub_goal|task|decomposition)/.test(type),
  steps: (type) => type.startsWith("step_"),
  people: (type) => /^(question|signal)|channels_edited/.test(type),
};

// The numbers of the events that are to be shown; nothing: all of them.
function useFiltered(view: RunView, kind: string, node: string) {
  const known = view.history.known.value;
  return useMemo(() => {
    if (kind === "all" && node === "") return undefined;
    const fits = kinds[kind] ?? kinds.all!;
    const found: number[] = [];
    for (let seq = 1; seq <= known; seq += 1) {
      if (node !== "" && view.history.subjectAt(seq) !== node) continue;
      if (fits(view.history.typeAt(seq), view.history.isFailureAt(seq))) found.push(seq);
    }
    return found;
  }, [view, known, kind, node]);
}

function placeOf(found: number[] | undefined, at: number): number {
  if (found === undefined) return at - 1;
  const next = found.findIndex((seq) => seq >= at);
  return next < 0 ? Math.max(0, found.length - 1) : next;
}

function Row({ seq, view }: { seq: number; view: RunView }) {
  void view.history.arrived.value; // a row is drawn again for what it reads itself, not with the list
  const event = view.history.event(seq);
  const isKnown = seq <= view.history.known.value;
  const type = event?.type ?? (isKnown ? view.history.typeAt(seq) : "");
  const at = view.at.value;
  const isFailure = isKnown && view.history.isFailureAt(seq);
  return (
    <button type="button" tabIndex={-1} aria-current={seq === at}
      class={`event ${seq > at ? "later" : ""} ${isFailure ? "failure" : ""}`} onClick={() => view.moveTo(seq)}>
      <span class="number muted">{digits.format(seq)}</span>
      <span class="event-type">{typeWords(type)}</span>
      <span class="event-says"><bdi>{event === undefined ? "" : wordsOf(event)}</bdi></span>
      <span class="muted event-actor"><bdi>{event === undefined ? "" : actorOf(event)}</bdi></span>
      <span class="number muted" title={event === undefined ? "" : exactTime(event.at)}>
        {isKnown ? since(view, seq) : ""}
      </span>
    </button>
  );
}

function since(view: RunView, seq: number): string {
  const ms = view.history.timeAt(seq) - view.history.timeAt(1);
  return ms < 1000 ? `+${ms} ms` : ms < 600_000 ? `+${(ms / 1000).toFixed(1)} s` : `+${Math.round(ms / 60_000)} min`;
}

export function Events() {
  const view = useRun();
  const kind = route.value.query.get("events") ?? "all";
  const node = route.value.query.get("node") ?? "";
  const found = useFiltered(view, kind, node);
  const count = found?.length ?? view.last.value;
  const place = placeOf(found, view.at.value);
  const move = (by: number) => {
    if (found === undefined) return view.step(by);
    const at = view.at.peek();
    const seq = by > 0 ? found.find((one) => one > at) : found.findLast((one) => one < at);
    if (seq !== undefined) view.moveTo(seq);
  };
  useKeys([
    { keys: "j", says: "Next event", act: () => move(1) },
    { keys: "k", says: "Event before", act: () => move(-1) },
  ], [view, found]);
  return (
    <>
      <div class="event-kinds" role="group" aria-label="Kinds of events">
        {Object.keys(kinds).map((each) => (
          <button type="button" key={each} class="chip" aria-pressed={each === kind}
            onClick={() => amend({ events: each === "all" ? undefined : each })}>{each}</button>
        ))}
        {node !== "" && (
          <button type="button" class="chip" aria-pressed="true" onClick={() => amend({ node: undefined })}>
            <bdi>{node}</bdi> ×
          </button>
        )}
        <span class="muted number">{count.toLocaleString()} {count === 1 ? "event" : "events"}</span>
      </div>
      {count === 0 ? <p class="muted none">No such event until now.</p> : (
        <Rows count={count} height={height} label="List of events" class="events" at={place} row={(index) => {
          const seq = found === undefined ? index + 1 : found[index]!;
          return <Row key={seq} seq={seq} view={view} />;
        }} />
      )}
      <EventDetail seq={view.rested.value} />
    </>
  );
}

function EventDetail({ seq }: { seq: number }) {
  const view = useRun();
  const read = useResource<Event[]>(`${view.run} ${seq}`, (signal) =>
    get<Event[]>(`runs/${view.run}/events`, { from: seq, limit: 1 }, signal));
  return (
    <section class="event-detail" aria-label={`Event ${seq}`}>
      <h2>Event {seq.toLocaleString()}</h2>
      <Read from={read}>{(events) => {
        const event = events[0];
        if (event === undefined) return <p class="muted">There is no such event yet.</p>;
        const { run: _, seq: __, ...fields } = event;
        return <JsonTree value={fields} open={2} />;
      }}</Read>
    </section>
  );
}
