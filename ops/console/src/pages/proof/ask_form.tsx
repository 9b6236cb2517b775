// The form that asks for a proof: what is to be done, with which runs.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { get, may, mayBring, type Refusal } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Graph, GraphListed } from "../../api/types";
import { CodeArea } from "../../parts/code/code_area";
import { pretty } from "../../parts/code/pretty";
import { useKeys } from "../../keys";
import { limitMax, type Asked, type Kind } from "./job";
import { packed, packedMax, unpacked } from "./packed";

export type Given = Asked;

const kinds: [Kind, string][] = [["verify", "Verify"], ["replay", "Replay"], ["changed", "Under a changed graph"],
  ["blame", "Blame"]];
const isReplay = (kind: Kind) => kind === "replay" || kind === "changed";
const actOf = (kind: Kind) => (kind === "verify" ? "Verify" : kind === "blame" ? "Blame" : "Replay");

export function AskForm({ given, onAsk }: { given: Given; onAsk: (wanted: Given) => void }) {
  const kind = useSignal<Kind>(given.kind);
  const where = useSignal(given.where);
  const limit = useSignal(String(given.limit));
  const handlers = useSignal(given.handlers);
  const text = useSignal("");
  const says = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", says: "Which runs", act: () => field.current?.focus() }]);
  useEffect(() => {
    if (given.graph !== "") void unpacked(given.graph).then((found) => (text.value = found), () => undefined);
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    says.value = "";
    try {
      const count = Number(limit.value);
      if (!Number.isInteger(count) || count < 1 || count > limitMax)
        throw new Error(`Expected a whole number of runs from 1 to ${limitMax.toLocaleString()}.`);
      const graph = kind.value === "changed" ? await graphOf(text.value) : "";
      const run = where.value === given.where ? given.run : "";
      onAsk({ kind: kind.value, where: where.value.trim(), run, limit: count, graph,
        handlers: isReplay(kind.value) && handlers.value });
    } catch (fault) {
      says.value = (fault as Error).message;
    }
  };
  return (
    <form class="ask card" noValidate onSubmit={(event) => void submit(event)}>
      <Kinds kind={kind} />
      <div class="ask-row">
        <label class="grows">{given.run === "" ? "Runs, as --where" : `Run ${given.run}, or others, as --where`}
          <input ref={field} type="text" class="code" spellcheck={false} autocomplete="off"
            placeholder={kind.value === "blame" ? "all failed runs: graph=order,since=24h narrows"
              : "all runs: graph=order,status=done,since=24h narrows"} value={where.value}
            onInput={(event) => (where.value = event.currentTarget.value)} />
        </label>
        <label>The newest
          <input type="text" inputMode="numeric" class="short" value={limit.value}
            onInput={(event) => (limit.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary">{actOf(kind.value)}</button>
      </div>
      {isReplay(kind.value) && (
        <label class="inline"><input type="checkbox" checked={handlers.value}
          onChange={() => (handlers.value = !handlers.value)} /> Run the pure handlers again too</label>
      )}
      {kind.value === "changed" && <ChangedGraph text={text} />}
      <p class="refusal" role="alert">{says.value}</p>
    </form>
  );
}

function Kinds({ kind }: { kind: Signal<Kind> }) {
  return (
    <div class="statuses" role="group" aria-label="Proof">
      {kinds.filter(([name]) => name !== "changed" || may("operate")).map(([name, title]) => (
        <button type="button" key={name} class="chip" aria-pressed={kind.value === name}
          onClick={() => (kind.value = name)}>{title}</button>
      ))}
    </div>
  );
}

async function graphOf(text: string): Promise<string> {
  try {
    JSON.parse(text);
  } catch (fault) {
    throw new Error(`The graph is not JSON: ${(fault as Error).message}.`);
  }
  const letters = await packed(text);
  if (letters.length > packedMax) throw new Error(`This graph is too large for an address: use cairn replay --graph.`);
  return letters;
}

// The text, which may begin as one of the graphs that are here.
function ChangedGraph({ text }: { text: Signal<string> }) {
  const list = useResource<GraphListed[]>("graphs", (signal) => get<GraphListed[]>("graphs", {}, signal));
  const fault = useSignal("");
  const take = (version: string) => {
    if (version === "") return;
    get<Graph>(`graphs/${version}`).then((graph) => (text.value = pretty(graph)),
      (refusal: Refusal) => (fault.value = refusal.message));
  };
  return (
    <div class="changed-graph">
      <label>Begin with
        <select onChange={(event) => take(event.currentTarget.value)}>
          <option value="">a text of your own</option>
          {(list.data.value ?? []).filter(mayBring).map((line) => (
            <option key={`${line.name}/${line.version}`} value={line.version}>
              {line.name} {line.version.slice(0, 8)}{line.current ? ", current" : ""}
            </option>
          ))}
        </select>
      </label>
      <CodeArea aria-label="The changed graph" value={text.value} rows={14}
        onInput={(event) => (text.value = event.currentTarget.value)} />
      <p class="refusal" role="alert">{fault.value}</p>
    </div>
  );
}
