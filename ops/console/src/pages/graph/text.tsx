// The text of a graph: read, changed, checked while it is written with the faults at their lines, added as a version.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { may, mayBring, post, Refusal } from "../../api/client";
import type { GraphAdded, GraphReview } from "../../api/types";
import { CodeArea } from "../../parts/code/code_area";
import { pretty } from "../../parts/code/pretty";
import { go } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { say, sayRefusal } from "../../shell/notices";
import { draftOf, dropDraft, keepDraft } from "./drafts";
import { faultsIn, syntaxFault, type Fault } from "./faults";
import { inOrder } from "./graph_schema";
import { KeysHere } from "./keys_here";
import type { Shown } from "./page";

const first = `{
  "name": "hello",
  "start": "greet",
  "limits": { "steps": 10 },
  "nodes": {
    "greet": {
      "do": "data.set",
      "with": { "set": { "greeting": "Hello" } },
      "on": { "ok": "over" }
    },
    "over": { "end": "done" }
  }
}
`;

export function NewGraph() {
  useCommandLines(curlLine("graphs", {}, { name: "hello" }), "cairn graph add FILE");
  return (
    <>
      <div class="page-head"><h1>New graph</h1></div>
      <Editor name="" version="" start={first} isBuiltIn={false} onAdded={() => undefined} />
    </>
  );
}

interface TextProps {
  shown: Shown;
  onAdded: () => void;
}

export function GraphText({ shown: { name, version, graph, versions }, onAdded }: TextProps) {
  return (
    <Editor name={name} version={version} start={pretty(inOrder(graph)) + "\n"} onAdded={onAdded}
      isBuiltIn={versions.some((line) => line.built_in)} />
  );
}

const quietMs = 400; // after the last key, before the text is checked
const againMs = 2000; // after a check that was not answered

async function review(text: string): Promise<Fault[]> {
  const syntax = syntaxFault(text);
  if (syntax !== undefined) return [syntax];
  const { faults, warnings } = await post<GraphReview>("graphs/check", JSON.parse(text));
  return faultsIn(text, faults, warnings);
}

// The faults of the text, some time after it was changed last; nothing yet, or a token that may not ask: undefined.
function useReview(text: string): Fault[] | undefined {
  const faults = useSignal<Fault[] | undefined>(undefined);
  const mayAsk = may("operate"); // known only when the server has said who asks
  useEffect(() => {
    if (!mayAsk) return;
    let isOver = false;
    let timer = 0;
    const ask = (afterMs: number) => {
      timer = window.setTimeout(() => {
        review(text).then((found) => {
          if (!isOver) faults.value = found;
        }, (fault: unknown) => {
          const isAway = fault instanceof Refusal && (fault.code === "lost" || fault.code === "unavailable");
          if (!isOver && isAway) ask(againMs); // that it is away is said above
        });
      }, afterMs);
    };
    ask(quietMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text, mayAsk]);
  return faults.value;
}

interface EditorProps {
  name: string;
  version: string;
  start: string;
  isBuiltIn: boolean;
  onAdded: () => void;
}

function Editor({ name, version, start, isBuiltIn, onAdded }: EditorProps) {
  const text = draftOf(name, version) ?? start;
  const undo = () => dropDraft(name, version);
  const cursor = useSignal(0);
  const place = useRef<HTMLTextAreaElement>(null);
  const faults = useReview(text);
  const mayWrite = mayBring({ built_in: isBuiltIn });
  const marks = new Map((faults ?? []).filter((fault) => !fault.isWarning && fault.line !== undefined)
    .map((fault) => [fault.line!, fault.says]));
  return (
    <div class="graph-text">
      <div>
        <CodeArea place={place} aria-label="The graph's text" value={text} marks={marks} rows={28}
          readOnly={!mayWrite} aria-describedby="graph-faults"
          onInput={(event) => {
            const written = event.currentTarget.value;
            if (written === start) undo();
            else keepDraft(name, version, written);
            cursor.value = event.currentTarget.selectionStart;
          }}
          onSelect={(event) => (cursor.value = event.currentTarget.selectionStart)} />
        {mayWrite && (
          <Actions text={text} start={start} onUndo={undo} onAdded={() => {
            undo();
            onAdded();
          }} isSound={faults !== undefined && faults.every((fault) => fault.isWarning)} />
        )}
      </div>
      <aside class="at-text" aria-label="About the text">
        <Faults faults={faults} onGo={(fault) => goTo(place.current!, fault)} />
        {mayWrite && <KeysHere text={text} at={cursor.value} place={place} />}
      </aside>
    </div>
  );
}

interface ActionsProps {
  text: string;
  start: string;
  isSound: boolean;
  onAdded: () => void;
  onUndo: () => void;
}

function Actions({ text, start, isSound, onAdded, onUndo }: ActionsProps) {
  const isBusy = useSignal(false);
  const add = async () => {
    isBusy.value = true;
    try {
      const added = await post<GraphAdded>("graphs", JSON.parse(text));
      say(`${added.name} is current in version ${added.version.slice(0, 12)}.`);
      onAdded();
      go(["graph", added.name], { show: "text" });
    } catch (refusal) {
      sayRefusal(refusal as Refusal);
    }
    isBusy.value = false;
  };
  const isOld = text === start && start !== first;
  return (
    <div class="buttons">
      <button type="button" class="primary" disabled={isBusy.value || !isSound || isOld}
        onClick={() => void add()}>Add as a version</button>
      {text !== start && <button type="button" class="quiet" onClick={onUndo}>Undo all changes</button>}
    </div>
  );
}

function goTo(area: HTMLTextAreaElement, fault: Fault): void {
  area.focus();
  area.setSelectionRange(fault.at!, fault.at!);
  area.scrollTop = Math.max(0, fault.line! - 8) * 18;
}

function Faults({ faults, onGo }: { faults: Fault[] | undefined; onGo: (fault: Fault) => void }) {
  if (faults === undefined) return <div id="graph-faults" />;
  const count = faults.filter((fault) => !fault.isWarning).length;
  return (
    <section id="graph-faults" class="faults" aria-label="Check" aria-live="polite">
      <h2>{count === 0 ? <span class="status is-done"><span aria-hidden="true">✓</span>No fault</span>
        : <span class="status is-failed"><span aria-hidden="true">✕</span>{count} {count === 1 ? "fault" : "faults"}
        </span>}</h2>
      <ul>
        {faults.map((fault) => (
          <li key={fault.says} class={fault.isWarning ? "is-warning" : "is-fault"}>
            {fault.line !== undefined && (
              <button type="button" class="quiet" onClick={() => onGo(fault)}>Line {fault.line}</button>
            )}
            <span>{fault.isWarning && <strong>Warning: </strong>}<bdi>{fault.says}</bdi></span>
          </li>
        ))}
      </ul>
    </section>
  );
}
