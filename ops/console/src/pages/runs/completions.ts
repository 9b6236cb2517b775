// What could follow in a filter: keys, and known values of them. Tags are those of the newest runs.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "../../api/client";
import type { GraphListed, RunListed, Session } from "../../api/types";

export interface Offer {
  text: string; // of the whole field, if it is taken
  shown: string;
  says: string;
  isWhole: boolean; // the term is complete with it
}

const keys: [string, string][] = [
  ["graph", "of this graph"],
  ["status", "running, waiting, paused, done, failed, aborted"],
  ["tag.", "with this tag"],
  ["since", "started since: 2h, 30d, 2026-11-21"],
  ["until", "started before"],
  ["lasted", "so long at least"],
  ["reason", "with this text in the reason"],
  ["error", "failed by this error"],
  ["node", "failed at this node"],
  ["tool", "called this tool"],
  ["parent", "called by this run"],
  ["lineage", "this run and its relatives"],
  ["version", "of this version of a graph"],
];

const values: Record<string, string[]> = {
  status: ["running", "waiting", "paused", "done", "failed", "aborted"],
  since: ["10m", "1h", "24h", "7d", "30d"],
  until: ["10m", "1h", "24h", "7d"],
  lasted: ["10s", "1m", "1h"],
};

interface Known {
  graphs: string[];
  tags: Map<string, Set<string>>;
  tools: string[];
  errors: string[];
  nodes: string[];
}

const known = signal<Known | undefined>(undefined);
let readAt = 0;

const words = (found: (string | undefined)[]) =>
  [...new Set(found.filter((word): word is string => word !== undefined))].sort();

// Read when a filter is shown, at most once a minute.
async function learn(): Promise<void> {
  if (performance.now() - readAt < 60_000 && readAt > 0) return;
  readAt = performance.now();
  const [graphs, runs, workers] = await Promise.all([
    get<GraphListed[]>("graphs"),
    get<RunListed[]>("runs", { limit: 500 }),
    get<Session[]>("workers"),
  ]);
  const tags = new Map<string, Set<string>>();
  for (const run of runs)
    for (const [key, value] of Object.entries(run.tags)) tags.set(key, (tags.get(key) ?? new Set()).add(value));
  known.value = {
    graphs: words(graphs.map((graph) => graph.name)),
    tags,
    tools: words(workers.flatMap((worker) => (worker.tools ?? []) as string[])),
    errors: words(runs.map((run) => run.cause?.error)),
    nodes: words(runs.map((run) => run.cause?.node)),
  };
}

function valuesOf(key: string): string[] {
  const all = known.value;
  if (key === "graph") return all?.graphs ?? [];
  if (key === "tool") return all?.tools ?? [];
  if (key === "error") return all?.errors ?? [];
  if (key === "node") return all?.nodes ?? [];
  if (key.startsWith("tag.")) return [...(all?.tags.get(key.slice(4)) ?? [])].sort();
  return values[key] ?? [];
}

function offersOfKey(before: string, begun: string): Offer[] {
  const tags = [...(known.value?.tags.keys() ?? [])].sort().map((key): [string, string] => [`tag.${key}`, "tag"]);
  return [...keys, ...tags]
    .filter(([key]) => key.startsWith(begun) && key !== begun)
    .map(([key, says]) => ({
      text: before + (key === "tag." ? key : `${key}=`), shown: key, says, isWhole: false,
    }));
}

export function offersFor(text: string): Offer[] {
  const start = text.search(/(?:\\,|[^,])*$/);
  const before = text.slice(0, start);
  const term = text.slice(start);
  const equals = term.indexOf("=");
  if (equals < 0) return offersOfKey(before, term.trim()).slice(0, 14);
  const key = term.slice(0, equals).trim();
  const begun = term.slice(equals + 1);
  return valuesOf(key)
    .filter((value) => value.startsWith(begun) && value !== begun)
    .slice(0, 14)
    .map((value) => ({
      text: `${before}${key}=${value.replaceAll(",", "\\,")}`, shown: value, says: key, isWhole: true,
    }));
}

// `isWanted`: nothing is read for a field that was not entered.
export function useCompletions(text: string, isWanted: boolean): Offer[] {
  useEffect(() => {
    if (isWanted) learn().catch(() => (readAt = 0));
  }, [isWanted]);
  return offersFor(text);
}
