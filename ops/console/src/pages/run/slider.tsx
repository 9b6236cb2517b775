// The slider: one place for each event of the run. All that the page shows is as of the event where it stands.
import { useKeys } from "../../keys";
import { Clock } from "../../parts/time";
import { typeWords } from "./event_words";
import { useRun, type RunView } from "./moment";

// j and k, where no list has its own rows for them.
export function useEventKeys(view: RunView): void {
  useKeys([
    { keys: "j", says: "Next event", act: () => view.step(1) },
    { keys: "k", says: "Event before", act: () => view.step(-1) },
  ], [view]);
}

function nextFailure(view: RunView): number | undefined {
  const { history } = view;
  for (let seq = view.at.value + 1; seq <= history.known.value; seq += 1)
    if (history.isFailureAt(seq) && history.typeAt(seq) !== "tool_called") return seq;
  return undefined;
}

export function Slider() {
  const view = useRun();
  const at = view.at.value;
  const last = view.last.value;
  const toFailure = () => {
    const seq = nextFailure(view);
    if (seq !== undefined) view.moveTo(seq);
  };
  useKeys([
    { keys: "[", says: "One event back", act: () => view.step(-1) },
    { keys: "]", says: "One event on", act: () => view.step(1) },
    { keys: "{", says: "To the first event", act: () => view.moveTo(1) },
    { keys: "}", says: "Now", act: () => view.moveTo(undefined) },
    { keys: "!", says: "Next failure", act: toFailure },
  ], [view]);
  const isKnown = at > 0 && at <= view.history.known.value;
  return (
    <section class="slider" aria-label="Moment">
      <div class="slider-buttons">
        <button type="button" onClick={() => view.moveTo(1)} disabled={at <= 1} title="Key {">First</button>
        <button type="button" onClick={() => view.step(-1)} disabled={at <= 1} aria-label="One event back"
          title="Key [">◂</button>
        <button type="button" onClick={() => view.step(1)} disabled={at >= last} aria-label="One event on"
          title="Key ]">▸</button>
        <button type="button" aria-pressed={view.isNow.value} onClick={() => view.moveTo(undefined)}
          title="Key }">Now</button>
      </div>
      <input type="range" min={1} max={Math.max(last, 1)} step={1} value={at} aria-label="Event"
        aria-valuetext={isKnown ? `Event ${at} of ${last}, ${typeWords(view.history.typeAt(at))}` : `Event ${at}`}
        onInput={(event) => {
          const seq = Number(event.currentTarget.value);
          view.moveTo(seq >= last ? undefined : seq);
        }} />
      <p class="slider-says">
        <span class="number">{at.toLocaleString()} <span class="muted">of {last.toLocaleString()}</span></span>
        {isKnown && <span class="slider-event">{typeWords(view.history.typeAt(at))}</span>}
        {isKnown && <Clock at={new Date(view.history.timeAt(at)).toISOString()} />}
        <Progress />
      </p>
    </section>
  );
}

// Events that the timeline and the graph do not know yet.
function Progress() {
  const view = useRun();
  const missing = view.last.value - view.history.known.value;
  if (view.history.fault.value !== undefined) return <span class="refusal">{view.history.fault.value.message}</span>;
  if (missing <= 0 || view.last.value < 2_000) return null;
  const share = Math.floor((100 * view.history.known.value) / view.last.value);
  return <span class="muted" role="status">Reading the history: {share} %</span>;
}
