// A command to all runs that match the filter: first how many they are, then the command, in pieces that can be
// stopped. The runs that were counted are those that are acted on: they are named, and later ones are not counted.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Refusal } from "../../api/client";
import { termsOf, type Term } from "../../api/filter";
import type { RunListed } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { shortId } from "../../parts/status";
import { link } from "../../router";
import { curlLine } from "../../shell/command_lines";
import {
  act, bodyOf, cairnLine, commands, count as countAll, isWhole, pinned, type Bulk, type BulkCommand, type Counted,
  type Progress,
} from "./bulk_work";

function Sums({ progress, isDry }: { progress: Progress; isDry: boolean }) {
  const would = isDry ? "would be " : "";
  const wordOf = (status: string, count: number) => `${count.toLocaleString()} ${would}${status}`;
  const words = Object.entries(progress.statuses).map(([status, count]) => wordOf(status, count));
  return (
    <>
      {words.length > 0 && <p>{isDry ? "" : "Now "}{words.join(", ")}.</p>}
      {progress.refused > 0 && <Refusals progress={progress} isDry={isDry} />}
    </>
  );
}

const refusalsAtOnce = 100;

function Refusals({ progress: { refused, refusals }, isDry }: { progress: Progress; isDry: boolean }) {
  const shown = useSignal(refusalsAtOnce);
  const left = refusals.length - shown.value;
  return (
    <details open={!isDry}>
      <summary>{refused.toLocaleString()}{" "}
        {isDry ? "would be refused" : refused === 1 ? "was refused" : "were refused"}</summary>
      <ul class="refusals">
        {refusals.slice(0, shown.value).map((refusal) => (
          <li key={refusal.run}>
            <a href={link(["run", refusal.run])}>{shortId(refusal.run)}</a> <bdi>{refusal.message}</bdi>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p class="more">
          <button type="button" onClick={() => (shown.value += refusalsAtOnce)}>
            {`Show ${Math.min(left, refusalsAtOnce).toLocaleString()} more`}</button>
        </p>
      )}
      {left <= 0 && refused > refusals.length && (
        <p class="muted">{refusals.length.toLocaleString()} of them are listed.</p>
      )}
    </details>
  );
}

interface WorkingProps {
  bulk: Bulk;
  counted: number;
  progress: Progress;
  isOver: boolean;
  onStop: () => void;
}

function Working({ bulk, counted, progress, isOver, onStop }: WorkingProps) {
  const left = counted - progress.runs;
  return (
    <div role="status">
      <progress max={Math.max(counted, 1)} value={progress.runs} aria-label="Runs that were acted on" />
      <p class="number-line"><strong>{progress.runs.toLocaleString()}</strong> of {counted.toLocaleString()} runs</p>
      {!isOver && <button type="button" onClick={onStop}>Stop</button>}
      {isOver && <Sums progress={progress} isDry={false} />}
      {isOver && bulk.reason !== undefined && bulk.reason !== "" && (
        <p class="muted">On record with each: <bdi>{bulk.reason}</bdi></p>
      )}
      {isOver && left > 0 && <p class="muted">{left.toLocaleString()} were left as they are: it was stopped, or they
        did not match any more.</p>}
    </div>
  );
}

interface AskProps {
  bulk: Bulk;
  onChange: (bulk: Bulk) => void;
}

function Settings({ bulk, onChange }: AskProps) {
  return (
    <>
      {bulk.command === "reset" && (
        <label>Node to begin again with, or the number of an event
          <input type="text" required maxLength={1000} spellcheck={false} autocomplete="off" value={bulk.to ?? ""}
            onInput={(event) => onChange({ ...bulk, to: event.currentTarget.value })} />
        </label>
      )}
      {bulk.command === "move" && (
        <label>Graph to move to, as JSON
          <textarea rows={8} required spellcheck={false} value={bulk.graph ?? ""}
            onInput={(event) => onChange({ ...bulk, graph: event.currentTarget.value })} />
        </label>
      )}
      <label>Reason, for the record
        <input type="text" maxLength={500} value={bulk.reason ?? ""}
          onInput={(event) => onChange({ ...bulk, reason: event.currentTarget.value })} />
      </label>
      {bulk.command === "cancel" && (
        <label class="inline">
          <input type="checkbox" checked={bulk.now === true}
            onChange={(event) => onChange({ ...bulk, now: event.currentTarget.checked })} />
          At once, without the graph's cleanup
        </label>
      )}
    </>
  );
}

const typingMs = 300;

// Counts again whenever what is asked changes, and not at each letter of it.
function useCount(terms: Term[], bulk: Bulk) {
  const counted = useSignal<Counted | undefined>(undefined);
  const fault = useSignal("");
  useEffect(() => {
    const aborter = new AbortController();
    counted.value = undefined;
    fault.value = "";
    const count = () => countAll(terms, bulk, aborter.signal).then(
      (found) => (counted.value = found),
      (refusal: unknown) => {
        if (!aborter.signal.aborted) fault.value = refusal instanceof Refusal ? refusal.message : String(refusal);
      },
    );
    const isTyped = bulk.command === "reset" || bulk.command === "move";
    const timer = isWhole(bulk) ? window.setTimeout(() => void count(), isTyped ? typingMs : 0) : 0;
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [terms, bulk.command, bulk.graph, bulk.to, bulk.now]);
  return { counted, fault };
}

export function BulkDialog({ where, newest, onClose }: { where: string; newest: RunListed; onClose: () => void }) {
  const terms = useMemo(() => pinned(termsOf(where), newest.started_at), []);
  const bulk = useSignal<Bulk>({ command: "cancel" });
  const progress = useSignal<Progress | undefined>(undefined);
  const isOver = useSignal(false);
  const stop = useMemo(() => new AbortController(), []);
  useEffect(() => () => stop.abort(), []); // nobody would see what comes of it
  const { counted, fault } = useCount(terms, bulk.value);
  const submit = async (event: Event) => {
    event.preventDefault();
    progress.value = { runs: 0, statuses: {}, refused: 0, refusals: [] };
    try {
      const { listed } = counted.value!;
      await act(terms, bulk.value, listed, { stop: stop.signal, onProgress: (now) => (progress.value = now) });
    } catch (refusal) {
      fault.value = refusal instanceof Refusal ? refusal.message : String(refusal);
    }
    isOver.value = true;
  };
  const count = counted.value?.runs ?? 0;
  const taken = count - (counted.value?.refused ?? 0);
  return (
    <Dialog title="All runs that match" onClose={() => {
      stop.abort();
      onClose();
    }}>
      <p class="where"><code><bdi>{where === "" ? "every run" : where}</bdi></code></p>
      {fault.value !== "" && <p class="refusal" role="alert">{fault.value}</p>}
      {progress.value !== undefined ? (
        <Working bulk={bulk.value} counted={count} progress={progress.value} isOver={isOver.value}
          onStop={() => stop.abort()} />
      ) : (
        <form class="answer" onSubmit={submit}>
          <label>Command
            <select value={bulk.value.command} onChange={(event) => {
              bulk.value = { ...bulk.value, command: event.currentTarget.value as BulkCommand };
            }}>
              {commands.map((command) => <option key={command} value={command}>{command}</option>)}
            </select>
          </label>
          <Settings bulk={bulk.value} onChange={(changed) => (bulk.value = changed)} />
          <div class={isWhole(bulk.value) ? "count" : undefined} role="status">
            {counted.value === undefined || !isWhole(bulk.value)
              ? isWhole(bulk.value) && fault.value === "" && <p class="muted">Counting…</p>
              : <><p><strong>{count.toLocaleString()}</strong> {count === 1 ? "run matches" : "runs match"}.</p>
                <Sums progress={counted.value} isDry /></>}
          </div>
          {isWhole(bulk.value) && (
            <pre class="as-commands" tabIndex={0} aria-label="The same in a terminal">
              {`${cairnLine(terms, bulk.value)}\n${curlLine("bulk", {}, bodyOf(terms, bulk.value, true))}`}</pre>
          )}
          <button type="submit" class={bulk.value.command === "cancel" ? "danger" : "primary"}
            disabled={counted.value === undefined || taken === 0}>
            {bulk.value.command[0]!.toUpperCase() + bulk.value.command.slice(1)}
            {counted.value !== undefined && ` ${taken.toLocaleString()} ${taken === 1 ? "run" : "runs"}`}
          </button>
        </form>
      )}
    </Dialog>
  );
}
