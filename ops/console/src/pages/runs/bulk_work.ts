// The work of a bulk command: page after page through POST /bulk, the same way for counting and for acting.
import { post } from "../../api/client";
import { textOf, whereOf, type Term } from "../../api/filter";
import type { BulkAnswer } from "../../api/types";
import { quoted } from "../../shell/command_lines";

export const commands = ["cancel", "pause", "resume", "retry", "reset", "move"] as const;
export type BulkCommand = (typeof commands)[number];

export interface Bulk {
  command: BulkCommand;
  reason?: string; // on record with each run
  now?: boolean; // of a cancel: without the graph's cleanup
  to?: string; // of a reset: a node, or the number of an event
  graph?: string; // of a move
}

// Whether all is there that the command needs.
export const isWhole = ({ command, to = "", graph = "" }: Bulk) =>
  command === "reset" ? to.trim() !== "" : command !== "move" || graph.trim() !== "";

export interface Progress {
  runs: number;
  statuses: Record<string, number>;
  refused: number;
  refusals: { run: string; message: string }[];
}

interface Way {
  isDry: boolean;
  signal?: AbortSignal; // ends it at once
  stop?: AbortSignal; // ends it after the piece that is under way
  onProgress?: (progress: Progress) => void;
}

const piece = 200;
const pieceCounted = 1000;
const refusalsKept = 10_000; // of very many, the first

// A microsecond after a time as the API writes it.
function justAfter(time: string): string {
  const [, seconds = "", fraction = "0"] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  const micros = Number(fraction.padEnd(6, "0").slice(0, 6)) + 1;
  if (micros < 1_000_000) return `${seconds}.${String(micros).padStart(6, "0")}Z`;
  return `${new Date(Date.parse(`${seconds}Z`) + 1000).toISOString().slice(0, 19)}.000000Z`;
}

// The filter that lets no run in that starts after the newest one that is shown; also where it had an `until` of its
// own, which may say how long ago, and so move on.
export function pinned(terms: Term[], newest: string): Term[] {
  return [...terms.filter((term) => term.key !== "until"), { key: "until", value: justAfter(newest) }];
}

export function bodyOf(terms: Term[], bulk: Bulk, isDry: boolean): Record<string, unknown> {
  const body: Record<string, unknown> = { command: bulk.command, where: whereOf(terms) };
  if (bulk.reason) body.reason = bulk.reason;
  if (bulk.command === "cancel" && bulk.now === true) body.now = true;
  if (bulk.command === "reset") body.to = (bulk.to ?? "").trim();
  if (bulk.command === "move") body.graph = parsed(bulk.graph ?? "");
  if (isDry) body.dry_run = true;
  return body;
}

// The line that does the same, as a dry run; the graph of a move stands in a file there.
export function cairnLine(terms: Term[], bulk: Bulk): string {
  const options: string[] = [];
  if (bulk.reason) options.push(`--reason ${quoted(bulk.reason)}`);
  if (bulk.command === "cancel" && bulk.now === true) options.push("--now");
  if (bulk.command === "reset") options.push(`--to ${quoted((bulk.to ?? "").trim())}`);
  if (bulk.command === "move") options.push("--graph FILE");
  return [`cairn ${bulk.command} --where ${quoted(textOf(terms))}`, ...options, "--dry-run"].join(" ");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export async function act(terms: Term[], bulk: Bulk, way: Way): Promise<Progress> {
  const progress: Progress = { runs: 0, statuses: {}, refused: 0, refusals: [] };
  let after: string | null = null;
  do {
    const body = { ...bodyOf(terms, bulk, way.isDry), limit: way.isDry ? pieceCounted : piece };
    const answer: BulkAnswer = await post<BulkAnswer>("bulk", after === null ? body : { ...body, after }, way.signal);
    progress.runs += answer.runs;
    progress.refused += answer.refused;
    for (const [status, count] of Object.entries(answer.statuses as Record<string, number>))
      progress.statuses[status] = (progress.statuses[status] ?? 0) + count;
    progress.refusals.push(...answer.refusals.slice(0, refusalsKept - progress.refusals.length));
    way.onProgress?.({ ...progress });
    after = answer.next;
  } while (after !== null && way.stop?.aborted !== true);
  return progress;
}
