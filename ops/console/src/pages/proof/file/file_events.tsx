// The events of one run of a file, each read from the file when it comes into view.
import { signal, type Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Rows } from "../../../parts/rows";
import { Clock, Exact } from "../../../parts/time";
import { Value } from "../../../parts/value/value";
import { amend, link, route } from "../../../router";
import { useKeys } from "../../../keys";
import type { FileRun } from "./check";
import { eventName } from "./event_names";
import { eventsAt, type EventLine as Line, type Reading } from "./reading";

const pageEvents = 64;
const pagesKept = 100;

interface PageOf {
  lines: Signal<Line[] | undefined>;
  count: number; // of the events that were there when it was read: a file that is still read has more later
}

// The events as they are read, a page at a time; those that were looked at long ago are read again.
function useLines(reading: Reading, run: FileRun) {
  const pages = useMemo(() => new Map<number, PageOf>(), [run]);
  return (index: number): Line | undefined => {
    const number = Math.floor(index / pageEvents);
    const first = number * pageEvents;
    const count = Math.min(pageEvents, run.from.length - first);
    let page = pages.get(number);
    if (page === undefined || page.count < count) {
      const { lines } = page ?? { lines: signal<Line[] | undefined>(undefined) };
      pages.set(number, (page = { lines, count }));
      if (pages.size > pagesKept) pages.delete(pages.keys().next().value!);
      eventsAt(reading, run, first, count).then((read) => {
        if (read.length > (lines.peek()?.length ?? 0)) lines.value = read;
      }, () => pages.delete(number)); // it is read once more when it is looked at
    }
    return page.lines.value?.[index % pageEvents];
  };
}

// Nothing: what stands in the file is no time.
function timeOf(line: Line): string | undefined {
  const time = new Date(Number(line.at_us) / 1000);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

export function FileEvents({ reading, run }: { reading: Reading; run: FileRun }) {
  const lineOf = useLines(reading, run);
  const chosen = Number(route.value.query.get("event") ?? 0) - 1;
  const faulty = new Set(reading.check.findings.filter((one) => one.run === run.run).map((one) => one.seq));
  const go = (index: number) =>
    amend({ event: Math.min(Math.max(index, 0), run.from.length - 1) + 1 });
  useKeys([
    { keys: "j", says: "Next event", act: () => go(chosen + 1) },
    { keys: "k", says: "Event before", act: () => go(chosen - 1) },
  ], [chosen]);
  const line = chosen >= 0 && chosen < run.from.length ? lineOf(chosen) : undefined;
  return (
    <section aria-label="Events of the run">
      <div class="file-head">
        <h2><bdi>{run.graph}</bdi> <code class="muted">{run.run}</code></h2>
        <a href={link(["proof", "file"])}>All runs of the file</a>
      </div>
      {run.leftOut !== "" && <p class="refusal"><bdi>{run.leftOut}</bdi></p>}
      <div class="file-events">
        <div class="file-rows">
          <Rows count={run.from.length} height={32} label="Events" {...(chosen >= 0 ? { at: chosen } : {})}
            row={(index) => <Row key={index} line={lineOf(index)} index={index} isChosen={index === chosen}
              isFaulty={faulty.has(index + 1)} />} />
        </div>
        {line !== undefined && <Detail line={line} />}
      </div>
    </section>
  );
}

interface RowProps {
  line: Line | undefined;
  index: number;
  isChosen: boolean;
  isFaulty: boolean;
}

function Row({ line, index, isChosen, isFaulty }: RowProps) {
  const at = line === undefined ? undefined : timeOf(line);
  return (
    <button type="button" class={`file-row file-event${isChosen ? " chosen" : ""}`} aria-pressed={isChosen}
      onClick={() => amend({ event: index + 1 })}>
      <span class="number muted">{index + 1}</span>
      <span class={isFaulty ? "refusal" : undefined}>{isFaulty && "✕ "}{line === undefined ? "…" :
        eventName(Number(line.type))}</span>
      <span class="muted">
        <bdi>{line === undefined ? "" : String(line.actor) || `step ${String(line.step)}`}</bdi>
      </span>
      <span class="muted">{at === undefined ? "" : <Clock at={at} />}</span>
    </button>
  );
}

function payloadOf(line: Line): unknown {
  try {
    return JSON.parse(String(line.payload));
  } catch {
    return line.payload;
  }
}

function Detail({ line }: { line: Line }) {
  const at = timeOf(line);
  return (
    <div class="card file-detail">
      <h3>{String(line.seq)} {eventName(Number(line.type))}</h3>
      <p class="muted">{at === undefined ? "no time" : <Exact at={at} />},{" "}
        <bdi>{String(line.actor) || "of a step"}</bdi></p>
      <Value value={payloadOf(line)} label="Payload" />
      {line.more === true && <p class="muted">The first part of a long payload.</p>}
      <p class="muted hash">Hash <code>{String(line.chain_hash)}</code></p>
    </div>
  );
}
