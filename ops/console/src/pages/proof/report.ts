// The findings of a proof, gathered run by run: kinds with a few examples each, so that a report over many runs is
// short. In the form of `cairn verify --json` and `cairn replay --json`, as far as these have it.
import type { ReplayReport, Verified } from "../../api/types";

export interface Example {
  run: string;
  seq: number;
  says: string;
  recorded?: string;
  again?: string | null;
}

export interface Kind {
  title: string; // of what kind
  node: string;
  decision: string;
  count: number; // runs
  examples: Example[];
}

export const examplesMax = 5;

export class Report {
  runs = 0;
  events = 0;
  good = 0; // runs
  cost = 0;
  costBehind = 0;
  private readonly kinds = new Map<string, Kind>();

  addVerified(found: Verified): void {
    this.runs += 1;
    this.events += found.events;
    if (found.sound) this.good += 1;
    const seen = new Set<string>();
    for (const finding of found.findings as { seq: number; kind: string; says: string }[]) {
      this.add({ title: finding.kind, node: "", decision: "" },
        { run: found.run, seq: finding.seq, says: finding.says }, !seen.has(finding.kind));
      seen.add(finding.kind);
    }
  }

  addReplayed(found: ReplayReport): void {
    this.runs += found.runs;
    this.events += found.events;
    this.good += found.same;
    this.cost += found.cost;
    this.costBehind += found.cost_behind;
    for (const divergence of found.divergences) {
      const { type, node, decision } = divergence;
      const kind = { title: type, node, decision: decision ?? "" };
      for (const { run, seq, says, recorded, again } of divergence.examples)
        this.add(kind, { run, seq, says, recorded, again }, true);
    }
    for (const { run, says } of found.faults) this.addOf("unreadable", run, says);
  }

  addRefused(run: string, says: string): void {
    this.runs += 1;
    this.addOf("refused", run, says);
  }

  // The most frequent first.
  found(): Kind[] {
    return [...this.kinds.values()].sort((a, b) => b.count - a.count);
  }

  json(): object {
    const { runs, events, good, cost, costBehind } = this;
    return { runs, events, good, cost, cost_behind: costBehind, found: this.found() };
  }

  private addOf(title: string, run: string, says: string): void {
    this.add({ title, node: "", decision: "" }, { run, seq: 0, says }, true);
  }

  private add(of: Pick<Kind, "title" | "node" | "decision">, example: Example, isRun: boolean): void {
    const key = JSON.stringify(of);
    let kind = this.kinds.get(key);
    if (kind === undefined) this.kinds.set(key, (kind = { ...of, count: 0, examples: [] }));
    if (isRun) kind.count += 1;
    if (kind.examples.length < examplesMax) kind.examples.push(example);
  }
}
