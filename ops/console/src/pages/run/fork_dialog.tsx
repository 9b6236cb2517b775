// A fork from the moment that is shown: channels, answers and the graph can be changed first; what models and tools
// said afterwards is asked again, or taken from the record.
import { useSignal } from "@preact/signals";
import { get, mayBring, post, type Refusal } from "../../api/client";
import type { EventOf, Graph, GraphListed, Run, Started } from "../../api/types";
import { useFollowed, useResource } from "../../api/resource";
import { Dialog } from "../../parts/dialog";
import { Read } from "../../parts/states";
import { go } from "../../router";
import { curlLine } from "../../shell/command_lines";
import { say, sayRefusal } from "../../shell/notices";
import { useRun, type RunView } from "./moment";

type Edits = Record<string, string>; // texts of JSON

function faultOf(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch {
    return "Expected JSON: texts stand in double quotes.";
  }
}

interface EditProps {
  title: string;
  says: string;
  names: string[];
  first: (name: string) => unknown;
  edits: Edits;
  onChange: (edits: Edits) => void;
}

const without = (edits: Edits, name: string): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([other]) => other !== name));

// Named values, of which some are given again as JSON.
function EditValues({ title, says, names, first, edits, onChange }: EditProps) {
  const left = names.filter((name) => !(name in edits));
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {Object.entries(edits).map(([name, text]) => (
        <div key={name} class="edit">
          <label>
            <bdi>{name}</bdi>
            <textarea rows={Math.min(10, text.split("\n").length + 1)} spellcheck={false} value={text}
              onInput={(event) => {
                event.currentTarget.setCustomValidity(faultOf(event.currentTarget.value));
                onChange({ ...edits, [name]: event.currentTarget.value });
              }} />
          </label>
          <button type="button" onClick={() => onChange(without(edits, name))}>Take <bdi>{name}</bdi> back</button>
        </div>
      ))}
      {left.length > 0 && (
        <label class="inline">
          <span class="hidden">{says}</span>
          <select value="" onChange={(event) => {
            const name = event.currentTarget.value;
            if (name !== "") onChange({ ...edits, [name]: JSON.stringify(first(name) ?? null, null, 2) });
          }}>
            <option value="">{says}</option>
            {left.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      )}
    </fieldset>
  );
}

const parsed = (edits: Edits) => Object.fromEntries(
  Object.entries(edits).map(([name, text]) => [name, JSON.parse(text) as unknown]),
);

interface Edited {
  channels: Edits;
  answers: Edits;
  graph: string;
  isRecorded: boolean;
  reason: string;
}

function bodyOf(at: number, edits: Edited): Record<string, unknown> {
  const body: Record<string, unknown> = { at };
  if (Object.keys(edits.channels).length > 0) body.set = parsed(edits.channels);
  if (Object.keys(edits.answers).length > 0) body.answer = parsed(edits.answers);
  if (edits.graph.trim() !== "") body.graph = JSON.parse(edits.graph) as unknown;
  if (edits.isRecorded) body.recorded = true;
  if (edits.reason !== "") body.reason = edits.reason;
  return body;
}

// The questions that are open at the moment, and, once the history is read, those that were answered later, with their
// answers.
function useAnswers(view: RunView, at: number, run: Run): Map<string, unknown> {
  const later = useLaterAnswers(view, at).data.value ?? [];
  return new Map([...run.questions.map((one): [string, unknown] => [one.id, one.default ?? null]), ...later]);
}

function useLaterAnswers(view: RunView, at: number) {
  return useResource<Map<string, unknown>>(`answers ${view.run} ${at}`, async (signal) => {
    const found = new Map<string, unknown>();
    const last = view.last.peek();
    await view.history.hasRead(last, signal);
    for (let seq = at + 1; seq <= last && !signal.aborted; seq += 1) {
      if (view.history.typeAt(seq) !== "question_answered" || found.size > 50) continue;
      const query = { from: seq, limit: 1 };
      const [event] = await get<EventOf<"question_answered">[]>(`runs/${view.run}/events`, query, signal);
      if (event !== undefined) found.set(event.question, event.value);
    }
    return found;
  });
}

function GraphField({ version, text, onChange }: { version: string; text: string; onChange: (text: string) => void }) {
  const begin = async () => onChange(JSON.stringify(await get<unknown>(`graphs/${version}`), null, 2));
  if (text === "") return <button type="button" onClick={() => void begin().catch(sayRefusal)}>Edit the graph</button>;
  return (
    <label>Graph
      <textarea rows={14} spellcheck={false} value={text} onInput={(event) => {
        event.currentTarget.setCustomValidity(faultOf(event.currentTarget.value));
        onChange(event.currentTarget.value);
      }} />
    </label>
  );
}

// At the event where it was opened, wherever the run or the slider go meanwhile, until another one is chosen here.
export function ForkDialog({ at: first, onClose }: { at: number; onClose: () => void }) {
  const view = useRun();
  const chosen = useSignal(first);
  const at = chosen.value;
  const read = useFollowed<Run>(`fork ${view.run}`, `fork ${view.run} ${at}`, (signal) => view.stateAt(at, signal));
  const move = (to: number) => (chosen.value = to);
  return (
    <Dialog title={`Fork from event ${at.toLocaleString()}`} onClose={onClose}>
      <Read from={read}>{(run) => <ForkForm at={at} run={run} onMove={move} onClose={onClose} />}</Read>
    </Dialog>
  );
}

// Those that the run has at the moment, and those that its graph names.
function useChannels(run: Run): string[] {
  const graph = useResource<Graph>(run.version, (signal) => get<Graph>(`graphs/${run.version}`, {}, signal));
  const { channels = {} } = (graph.data.value ?? {}) as { channels?: Record<string, unknown> };
  return [...new Set([...Object.keys(run.channels), ...Object.keys(channels)])];
}

// Whether the fork may have another text of the run's graph.
function useMayEdit(run: Run): boolean {
  const listed = useResource<GraphListed[]>("graphs", (signal) => get<GraphListed[]>("graphs", {}, signal));
  const line = listed.data.value?.find(({ name }) => name === run.graph);
  return line !== undefined && mayBring(line);
}

interface FormProps {
  at: number;
  run: Run; // as of that event
  onMove: (at: number) => void;
  onClose: () => void;
}

// Events of one commit came together, and the run never stood between them: where it was forked inside of one, the ends
// that are near are offered.
function Refused({ refusal, last, onMove }: { refusal: Refusal; last: number; onMove: (at: number) => void }) {
  return (
    <div class="refusal" role="alert">{refusal.message}
      <ul>{refusal.faults.map((one) => <li key={one}>{one}</li>)}</ul>
      <span class="buttons">
        {refusal.ends.filter((seq) => seq !== last).map((seq) => (
          <button type="button" key={seq} onClick={() => onMove(seq)}>From event {seq.toLocaleString()}</button>
        ))}
      </span>
    </div>
  );
}

function ForkForm({ at, run, onMove, onClose }: FormProps) {
  const view = useRun();
  const edits = useSignal<Edited>({ channels: {}, answers: {}, graph: "", isRecorded: false, reason: "" });
  const fault = useSignal<Refusal | undefined>(undefined);
  const isBusy = useSignal(false);
  const answers = useAnswers(view, at, run);
  const names = useChannels(run);
  const mayEdit = useMayEdit(run);
  const change = (part: Partial<Edited>) => (edits.value = { ...edits.value, ...part });
  const submit = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    try {
      const begun = await post<Started>(`runs/${view.run}/fork`, bodyOf(at, edits.value));
      say(`A fork goes on from event ${at}.`);
      onClose();
      go(["run", begun.run]);
    } catch (refusal) {
      fault.value = refusal as Refusal;
    }
    isBusy.value = false;
  };
  const { channels, graph, isRecorded } = edits.value;
  return (
    <form class="fork" onSubmit={submit}>
      <p class="muted">Another run begins with this history and goes its own way. This one stays as it is.</p>
      <EditValues title="Channels" says="Change a channel…" names={names} edits={channels}
        first={(name) => run.channels[name]} onChange={(edits) => change({ channels: edits })} />
      {(answers.size > 0 || Object.keys(edits.value.answers).length > 0) && (
        <EditValues title="Answers" says="Answer a question otherwise…" names={[...answers.keys()]}
          edits={edits.value.answers} first={(name) => answers.get(name)}
          onChange={(edits) => change({ answers: edits })} />
      )}
      {mayEdit && (
        <fieldset class="group">
          <legend>Graph</legend>
          <GraphField version={run.version} text={graph} onChange={(text) => change({ graph: text })} />
        </fieldset>
      )}
      <fieldset class="group">
        <legend>Models and tools</legend>
        <label class="inline"><input type="radio" name="recorded" checked={!isRecorded}
          onChange={() => change({ isRecorded: false })} /> are asked again</label>
        <label class="inline"><input type="radio" name="recorded" checked={isRecorded}
          onChange={() => change({ isRecorded: true })} /> say what they said in this run</label>
      </fieldset>
      {fault.value !== undefined && (
        <Refused refusal={fault.value} last={view.isOver.value ? view.last.value : 0} onMove={(to) => {
          fault.value = undefined;
          onMove(to);
        }} />
      )}
      <label>Reason, for the record
        <input type="text" maxLength={500} value={edits.value.reason}
          onInput={(event) => change({ reason: event.currentTarget.value })} />
      </label>
      <ForkLine at={at} edits={edits.value} run={view.run} />
      <button type="submit" class="primary" disabled={isBusy.value}>Fork</button>
    </form>
  );
}

function ForkLine({ at, edits, run }: { at: number; edits: Edited; run: string }) {
  try {
    return <code class="fork-line">{curlLine(`runs/${run}/fork`, {}, bodyOf(at, edits))}</code>;
  } catch {
    return null;
  }
}
