// Steps and attempts over time, as of the slider's moment: what is open stands on top, with how long it has been so.
// Stretches in which nothing was executed are folded.
import { useComputed, useSignal } from "@preact/signals";
import type { Reason, Step } from "../../api/types";
import { Rows } from "../../parts/rows";
import { duration, exactTime, Lasted, now } from "../../parts/time";
import { amend, route } from "../../router";
import { useRun, type RunView } from "./moment";
import { useEventKeys } from "./slider";
import { usedUntil, type StepRow } from "./steps";
import { timeScale, type TimeScale } from "./time_scale";

const height = 28;
const colours = ["status", "cost", "model"] as const;
type Colour = (typeof colours)[number];

// Which process executes each step now.
function holders(view: RunView): Map<number, Reason> {
  const reasons = view.isOver.value ? [] : view.explanation.value?.reasons ?? [];
  return new Map(reasons.flatMap((reason) =>
    reason.kind === "held" && typeof reason.step === "number" ? [[reason.step, reason] as const] : []));
}

function useScale(view: RunView) {
  return useComputed<TimeScale>(() => {
    const { rows } = view.history.steps;
    const start = Date.parse(view.head.value!.started_at);
    const end = view.isOver.value ? Date.parse(view.head.value!.updated_at) : now.value;
    const holding = holders(view);
    const held = view.head.value!.steps.flatMap((step) => {
      const reason = holding.get(step.step);
      return reason === undefined ? [] : [{ from: Date.parse(reason.since ?? step.opened_at), to: end }];
    });
    const { known } = view.history;
    if (known.value < view.last.value) held.push({ from: view.history.timeAt(known.value), to: end }); // not read yet
    const busy = rows.flatMap((row) => row.attempts.filter((one) => one.kind === "work" || one.kind === "cached"));
    return timeScale([...busy, ...held], start, end);
  });
}

function barClass(row: StepRow, attempt: { ok: boolean; kind: string }, colour: Colour, view: RunView): string {
  if (colour === "status") return attempt.kind === "work" ? (attempt.ok ? "ok" : "failed") : attempt.kind;
  const { cost, model } = usedUntil(row, view.at.value);
  if (colour === "model") return model === "" ? "plain" : `model-${[...view.history.steps.models].indexOf(model) % 5}`;
  const { dearest } = view.history.steps;
  return cost === 0 ? "plain" : `cost-${Math.min(4, Math.floor((5 * cost) / dearest))}`;
}

interface RowProps {
  row: StepRow;
  scale: TimeScale;
  colour: Colour;
  view: RunView;
}

function titleOf(row: StepRow, until: number): string {
  const attempts = row.attempts.filter((attempt) => attempt.seq <= until);
  const last = attempts[attempts.length - 1];
  const took = last === undefined ? "" : `, ${duration(last.to - last.from)}`;
  const { cost, tokens } = usedUntil(row, until);
  const says = last?.says ?? "";
  return `Step ${row.step}: ${row.name} ${row.tool}${took}${tokens > 0 ? `, ${tokens} tokens` : ""}` +
    `${cost > 0 ? `, cost ${cost.toPrecision(3)}` : ""}${says === "" ? "" : `\n${says.slice(0, 300)}`}`;
}

function StepLine({ row, scale, colour, view }: RowProps) {
  const at = view.at.value;
  const attempts = row.attempts.filter((attempt) => attempt.seq <= at);
  const last = attempts[attempts.length - 1];
  return (
    <button type="button" tabIndex={-1} class="line" title={titleOf(row, at)}
      onClick={() => view.moveTo(last?.seq ?? row.first)}>
      <span class="line-name"><bdi>{row.name === "" ? `step ${row.step}` : row.name}</bdi>
        {row.tool !== "" && <span class="muted"> <bdi>{row.tool}</bdi></span>}
        {attempts.length > 1 && <span class="muted"> ×{attempts.length}</span>}
      </span>
      <span class="line-bars">
        {attempts.map((attempt, index) => {
          const from = scale.place(attempt.from);
          const width = Math.max(scale.place(attempt.to) - from, 0.002);
          return (
            <span key={index} class={`bar ${barClass(row, attempt, colour, view)}`}
              style={{ left: `${from * 100}%`, width: `${Math.min(width, 1 - from) * 100}%` }} />
          );
        })}
      </span>
      <span class="line-took number muted">{last === undefined ? "" : duration(last.to - last.from)}</span>
    </button>
  );
}

function OpenLine({ step, scale, view }: { step: Step; scale: TimeScale; view: RunView }) {
  const isLive = view.isNow.value && !view.isOver.value;
  const end = isLive ? now.value : view.history.timeAt(view.at.value);
  const from = scale.place(Date.parse(step.opened_at));
  const holder = isLive ? holders(view).get(step.step) : undefined;
  const says = holder === undefined ? `waits for ${step.waits_for}` : `runs on ${holder.host} ${holder.pid}`;
  return (
    <div class="line open" title={`Step ${step.step}, since ${exactTime(step.opened_at)}`}>
      <span class="line-name"><bdi>{step.sub_goal ?? step.node}</bdi> <span class="muted"><bdi>{says}</bdi>
        {step.attempt > 1 ? `, attempt ${step.attempt}` : ""}</span></span>
      <span class="line-bars">
        <span class={`bar open is-${step.waits_for}`}
          style={{ left: `${from * 100}%`, width: `${Math.max(scale.place(end) - from, 0.004) * 100}%` }} />
      </span>
      <span class="line-took number">
        <Lasted from={step.opened_at} to={isLive ? undefined : new Date(end).toISOString()} />
      </span>
    </div>
  );
}

const edge = 0.15; // of the line: a fold's words there would stand on those of the end

function Axis({ scale, view }: { scale: TimeScale; view: RunView }) {
  const start = Date.parse(view.head.value!.started_at);
  const end = view.isOver.value ? Date.parse(view.head.value!.updated_at) : now.value;
  const isFolded = (test: (place: number) => boolean) => scale.folds.some((fold) => test(fold.place));
  return (
    <div class="axis" aria-hidden="true">
      <span class="line-name muted">since the start</span>
      <span class="line-bars">
        {!isFolded((place) => place < edge) && <span class="tick first">0</span>}
        {scale.folds.map((fold) => (
          <span key={fold.from} class="fold" title="Nothing was executed"
            style={{ left: `${fold.place * 100}%`, transform: `translateX(-${fold.place * 100}%)` }}>
            ≈ {duration(fold.to - fold.from)}
          </span>
        ))}
        {!isFolded((place) => place > 1 - edge) && (
          <span class="tick last">{duration(end - start)}</span>
        )}
        <span class="cursor" style={{ left: `${scale.place(view.history.timeAt(view.at.value)) * 100}%` }} />
      </span>
      <span class="line-took" />
    </div>
  );
}

export function Timeline() {
  const view = useRun();
  const scale = useScale(view).value;
  const colour = (route.value.query.get("colour") ?? "status") as Colour;
  const node = route.value.query.get("node") ?? "";
  const onlyFailed = useSignal(false);
  void view.history.known.value;
  const at = view.at.value;
  const { steps } = view.history;
  const begun = steps.rowsUntil(at);
  const cost = steps.costUntil(at);
  const isFiltered = node !== "" || onlyFailed.value;
  const rows = isFiltered
    ? steps.rows.slice(0, begun).filter((row) => (node === "" || row.name === node) &&
        (!onlyFailed.value || row.attempts.some((attempt) => !attempt.ok && attempt.seq <= at)))
    : steps.rows;
  const count = isFiltered ? rows.length : begun;
  const open = view.open.value.filter((step) => node === "" || step.node === node);
  useEventKeys(view);
  return (
    <div class="timeline">
      <div class="event-kinds">
        <span class="muted">Colour by</span>
        <span role="group" aria-label="Colour by" class="chips">
          {colours.map((each) => (
            <button type="button" key={each} class="chip" aria-pressed={each === colour}
              onClick={() => amend({ colour: each === "status" ? undefined : each })}>{each}</button>
          ))}
        </span>
        <button type="button" class="chip" aria-pressed={onlyFailed.value}
          onClick={() => (onlyFailed.value = !onlyFailed.value)}>failures</button>
        {node !== "" && (
          <button type="button" class="chip" aria-pressed="true" onClick={() => amend({ node: undefined })}>
            <bdi>{node}</bdi> ×
          </button>
        )}
        <span class="muted number">{count.toLocaleString()} {count === 1 ? "step" : "steps"}
          {cost > 0 ? `, cost ${cost.toPrecision(3)}` : ""}</span>
      </div>
      <Axis scale={scale} view={view} />
      {open.slice(0, 12).map((step) => <OpenLine key={step.step} step={step} scale={scale} view={view} />)}
      {open.length > 12 && <p class="muted none">and {open.length - 12} more that are open</p>}
      {count === 0 ? <p class="muted none">No step has ended yet.</p> : (
        <Rows count={count} height={height} label="Steps" class="lines" at={Math.max(0, count - 1)} row={(index) => (
          <StepLine key={rows[index]!.step} row={rows[index]!} scale={scale} colour={colour} view={view} />
        )} />
      )}
    </div>
  );
}
