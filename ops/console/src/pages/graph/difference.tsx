// Two versions of a graph, line by line; what is the same far from a change is folded.
import { useSignal } from "@preact/signals";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Graph } from "../../api/types";
import { differenceOf, type Line } from "../../parts/code/lines";
import { pretty } from "../../parts/code/pretty";
import { Empty, Read } from "../../parts/states";
import { localTime } from "../../parts/time";
import { amend, route } from "../../router";
import { inOrder } from "./graph_schema";
import type { Shown } from "./page";

const context = 3; // lines around a change

const textOf = (graph: Graph) => pretty(inOrder(graph));

// The version that another one is held against: the one that was chosen, otherwise the newest other one.
export const olderOf = ({ versions, version }: Pick<Shown, "versions" | "version">): string | undefined =>
  route.value.query.get("from") ?? versions.find((line) => line.version !== version)?.version;

export function Difference({ shown }: { shown: Shown }) {
  const from = olderOf(shown);
  if (from === undefined) return <Empty title="There is one version only" />;
  return (
    <>
      <div class="choose-versions">
        <Choice label="From" value={from} shown={shown} onChange={(version) => amend({ from: version })} />
        <Choice label="To" value={shown.version} shown={shown} onChange={(version) => amend({ version, from })} />
      </div>
      <Lines from={from} shown={shown} />
    </>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  shown: Shown;
  onChange: (version: string) => void;
}

function Choice({ label, value, shown, onChange }: ChoiceProps) {
  return (
    <label>{label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {shown.versions.map((line) => (
          <option key={line.version} value={line.version}>
            {line.version.slice(0, 8)} {line.at === undefined ? "" : localTime(line.at)}
            {line.current ? ", current" : ""}
          </option>
        ))}
      </select>
    </label>
  );
}

function Lines({ from, shown }: { from: string; shown: Shown }) {
  const old = useResource<Graph>(from, (signal) => get<Graph>(`graphs/${from}`, {}, signal));
  return (
    <Read from={old}>
      {(graph) => {
        const lines = differenceOf(textOf(graph), textOf(shown.graph));
        const count = (kind: Line["kind"]) => lines.filter((line) => line.kind === kind).length;
        if (count("same") === lines.length) return <Empty title="Both versions are the same" />;
        return (
          <>
            <p class="muted" role="status">
              {count("added")} {count("added") === 1 ? "line" : "lines"} added, {count("removed")} removed.
            </p>
            <div class="difference" role="region" aria-label="Difference" tabIndex={0}>
              {folded(lines).map((part) => <Part key={part.at} lines={part.lines} isFolded={part.isFolded} />)}
            </div>
          </>
        );
      }}
    </Read>
  );
}

interface PartOf {
  at: number;
  lines: Line[];
  isFolded: boolean;
}

// Stretches of lines: those near a change, and the others, which are folded.
export function folded(lines: Line[]): PartOf[] {
  const isNear = lines.map(() => false);
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let near = Math.max(0, at - context); near <= Math.min(lines.length - 1, at + context); near += 1)
      isNear[near] = true;
  });
  const parts: PartOf[] = [];
  lines.forEach((line, at) => {
    const last = parts.at(-1);
    if (last !== undefined && last.isFolded === !isNear[at]) last.lines.push(line);
    else parts.push({ at, lines: [line], isFolded: !isNear[at] });
  });
  return parts;
}

const marks = { same: " ", removed: "−", added: "+" };

function Part({ lines, isFolded }: { lines: Line[]; isFolded: boolean }) {
  const isOpen = useSignal(!isFolded || lines.length < 2);
  if (!isOpen.value)
    return (
      <button type="button" class="same-lines" onClick={() => (isOpen.value = true)}>
        {lines.length} lines are the same
      </button>
    );
  return (
    <>
      {lines.map((line) => (
        <div key={`${line.before}/${line.after}`} class={`difference-line is-${line.kind}`}>
          <span class="number">{line.before || ""}</span>
          <span class="number">{line.after || ""}</span>
          <span>{marks[line.kind]}{line.kind !== "same" && <span class="hidden">{line.kind}: </span>}</span>
          <code>{line.text || " "}</code>
        </div>
      ))}
    </>
  );
}
