// The steps of a run with their attempts, and where the run has been, gathered event by event. Each entry says by the
// number of an event since when it holds, so that any moment can be shown.
import type { Event, EventOf } from "../../api/types";

export interface Attempt {
  from: number; // milliseconds
  to: number;
  seq: number; // of the event that ended it
  ok: boolean;
  kind: "work" | "question" | "child" | "cached";
  says: string; // how it ended
}

// What a step had used with a call of a model, and of which.
interface Use {
  seq: number;
  cost: number; // with those before
  tokens: number;
  model: string;
}

const unused: Use = { seq: 0, cost: 0, tokens: 0, model: "" };

export interface StepRow {
  step: number;
  name: string; // node or sub-goal
  tool: string;
  first: number; // the number of its first event
  last: number;
  attempts: Attempt[];
  uses?: Use[]; // none: it called no model
}

export const usedUntil = (row: StepRow, seq: number): Use => row.uses?.findLast((use) => use.seq <= seq) ?? unused;

// An edge, by its ends and its label: several may lead from one node to another.
export const wayOf = (ends: string, label: string) => `${ends} ${label}`;

interface Pending {
  from: number;
  kind: Attempt["kind"];
}

export class StepBook {
  readonly rows: StepRow[] = []; // in the order of their first event
  readonly visits = new Map<string, number[]>(); // node: the events that left it
  readonly ways = new Map<string, number>(); // as wayOf has it: the first event that went there
  readonly models = new Set<string>();
  private readonly costs: number[] = []; // of all until then, for each event of costSeqs
  private readonly costSeqs: number[] = [];
  dearest = 0; // cost of one step in the whole run: the scale of the colours, at every moment
  private readonly byStep = new Map<number, StepRow>();
  private readonly waits = new Map<number, Pending>();

  add(event: Event): void {
    switch (event.type) {
      case "step_succeeded":
        return this.left(event);
      case "step_failed":
        return this.failed(event);
      case "sub_goal_closed":
        return this.closed(event);
      case "model_called":
        return this.called(event);
      case "tool_called":
        this.row(event).tool = event.tool ?? "";
        return;
      case "question_asked":
        return this.waits_for(event, "question", event.question);
      case "child_started":
        return this.waits_for(event, "child", event.graph);
      default:
    }
  }

  // What a fork has from the run that it came from: the ways that were taken, which hold since its first event.
  inherit(event: Event): void {
    if (event.type !== "step_succeeded" && event.type !== "step_failed") return;
    for (const to of event.next ?? []) this.ways.set(wayOf(`${event.node}->${to}`, event.label ?? "error"), 1);
  }

  private row(event: Event): StepRow {
    let row = this.byStep.get(event.step);
    if (row === undefined) {
      row = { step: event.step, name: "", tool: "", first: event.seq, last: event.seq, attempts: [] };
      this.byStep.set(event.step, row);
      this.rows.push(row);
    }
    row.last = event.seq;
    return row;
  }

  private waits_for(event: Event, kind: Attempt["kind"], name: string): void {
    const row = this.row(event);
    if (row.name === "") row.name = name;
    this.waits.set(event.step, { from: Date.parse(event.at), kind });
  }

  private end(event: Event & { started_at: string }, row: StepRow, ok: boolean, says: string, isCached = false): void {
    const wait = this.waits.get(event.step);
    this.waits.delete(event.step);
    const from = wait?.from ?? Date.parse(event.started_at);
    const kind = isCached ? "cached" : wait?.kind ?? "work";
    row.attempts.push({ from, to: Date.parse(event.at), seq: event.seq, ok, kind, says });
  }

  private left(event: EventOf<"step_succeeded">): void {
    const row = this.row(event);
    row.name = event.node;
    this.end(event, row, true, event.label, event.cached_from !== undefined);
    this.went(event.node, event.label, event.next, event.seq);
  }

  private failed(event: EventOf<"step_failed">): void {
    const row = this.row(event);
    row.name = event.node;
    this.end(event, row, false, `${event.error}: ${event.message}`);
    if (event.next !== undefined) this.went(event.node, event.label ?? "error", event.next, event.seq);
  }

  private closed(event: EventOf<"sub_goal_closed">): void {
    const row = this.row(event);
    row.name = event.sub_goal;
    this.end(event, row, event.status !== "failed", event.message ?? "");
  }

  private called(event: EventOf<"model_called">): void {
    const row = this.row(event);
    const model = event.model ?? "";
    this.models.add(model);
    row.uses ??= [];
    const before = row.uses.at(-1) ?? unused;
    const cost = before.cost + (event.cost ?? 0);
    const tokens = before.tokens + (event.tokens_in ?? 0) + (event.tokens_out ?? 0);
    row.uses.push({ seq: event.seq, cost, tokens, model });
    this.dearest = Math.max(this.dearest, cost);
    if (!event.cost) return;
    this.costs.push((this.costs.at(-1) ?? 0) + event.cost);
    this.costSeqs.push(event.seq);
  }

  private went(node: string, label: string, next: string[], seq: number): void {
    const seen = this.visits.get(node);
    if (seen === undefined) this.visits.set(node, [seq]);
    else seen.push(seq);
    for (const to of next) {
      const way = wayOf(`${node}->${to}`, label);
      if (!this.ways.has(way)) this.ways.set(way, seq);
    }
  }

  // The first event that went along an edge of the drawing. A map that ended "partial" leaves by "joined" where its
  // graph has no way of its own for that.
  firstOn(ends: string, label: string, drawn: ReadonlySet<string>): number | undefined {
    const partial = wayOf(ends, "partial");
    const first = [this.ways.get(wayOf(ends, label))];
    if (label === "joined" && !drawn.has(partial)) first.push(this.ways.get(partial));
    const known = first.filter((seq) => seq !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  costUntil(seq: number): number {
    return this.costs[countUpTo(this.costSeqs, seq) - 1] ?? 0;
  }

  visitsUntil(node: string, seq: number): number {
    const seen = this.visits.get(node);
    return seen === undefined ? 0 : countUpTo(seen, seq);
  }

  // How many rows had begun with that event.
  rowsUntil(seq: number): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle]!.first <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

// How many of the ascending numbers are at most the bound.
export function countUpTo(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
