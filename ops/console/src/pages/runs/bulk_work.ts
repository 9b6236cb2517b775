// The work of a bulk command: the runs that match are counted and noted page after page through POST /bulk, then those
// are acted on in pieces, as far as they still match.
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

export interface Counted extends Progress {
  listed: string[]; // the ids of the runs, the newest first
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

const nothing = (): Progress => ({ runs: 0, statuses: {}, refused: 0, refusals: [] });

function add(progress: Progress, answer: BulkAnswer): void {
  progress.runs += answer.runs;
  progress.refused += answer.refused;
  for (const [status, count] of Object.entries(answer.statuses as Record<string, number>))
    progress.statuses[status] = (progress.statuses[status] ?? 0) + count;
  progress.refusals.push(...answer.refusals.slice(0, refusalsKept - progress.refusals.length));
}

// What the command would do, and to which runs.
export async function count(terms: Term[], bulk: Bulk, signal: AbortSignal): Promise<Counted> {
  const counted: Counted = { ...nothing(), listed: [] };
  let after: string | null = null;
  do {
    const body = { ...bodyOf(terms, bulk, true), limit: pieceCounted, list: true };
    const answer: BulkAnswer = await post<BulkAnswer>("bulk", after === null ? body : { ...body, after }, signal);
    add(counted, answer);
    counted.listed.push(...(answer.listed ?? []));
    after = answer.next;
  } while (after !== null);
  return counted;
}

interface Way {
  stop: AbortSignal; // ends it after the piece that is under way
  onProgress: (progress: Progress) => void;
}

// The command to those of the counted runs that still match: one that came to match since then is left alone.
export async function act(terms: Term[], bulk: Bulk, listed: string[], way: Way): Promise<Progress> {
  const progress = nothing();
  for (let at = 0; at < listed.length && !way.stop.aborted; at += piece) {
    const body = { ...bodyOf(terms, bulk, false), only: listed.slice(at, at + piece) };
    add(progress, await post<BulkAnswer>("bulk", body));
    way.onProgress({ ...progress });
  }
  return progress;
}
