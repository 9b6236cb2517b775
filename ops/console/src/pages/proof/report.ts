// The findings of a proof, gathered run by run: kinds with a few examples each, so that a report over many runs is
// short. In the form of `cairn verify --json`, `cairn replay --json` and `cairn blame --json`, as far as these have it.
import type { Blame, ReplayReport, Verified } from "../../api/types";

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
  graph: string; // of a blame
  count: number; // runs
  nearest: number; // of a blame: outcomes from the end
  examples: Example[];
}

type Named = Pick<Kind, "title" | "node" | "decision" | "graph">;
const plain: Named = { title: "", node: "", decision: "", graph: "" };

export const examplesMax = 5;

export class Report {
  runs = 0;
  events = 0;
  good = 0; // runs
  cost = 0;
  costBehind = 0;
  blame: Blame | undefined; // the latest
  private readonly kinds = new Map<string, Kind>();

  addVerified(found: Verified): void {
    this.runs += 1;
    this.events += found.events;
    if (found.sound) this.good += 1;
    const seen = new Set<string>();
    for (const finding of found.findings as { seq: number; kind: string; says: string }[]) {
      this.add({ ...plain, title: finding.kind },
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
      const kind = { ...plain, title: type, node, decision: decision ?? "" };
      for (const { run, seq, says, recorded, again } of divergence.examples)
        this.add(kind, { run, seq, says, recorded, again }, true);
    }
    for (const { run, says } of found.faults) this.addOf("unreadable", run, says);
  }

  // Each node and kind counts once, with the outcome that is nearest.
  addBlamed(found: Blame): void {
    this.runs += 1;
    this.blame = found;
    const seen = new Set<string>();
    for (const { kind, node, seq, says, distance } of found.causes) {
      const of = { ...plain, title: kind, node: node ?? "", graph: found.graph };
      const key = `${kind}/${of.node}`;
      if (seen.has(key)) continue;
      seen.add(key);
      this.add(of, { run: found.run, seq, says }, true, distance);
    }
  }

  addRefused(run: string, says: string): void {
    this.runs += 1;
    this.addOf("refused", run, says);
  }

  // The most frequent first, and of those the nearest.
  found(): Kind[] {
    return [...this.kinds.values()].sort((a, b) => b.count - a.count || a.nearest - b.nearest);
  }

  json(): object {
    const { runs, events, good, cost, costBehind } = this;
    return { runs, events, good, cost, cost_behind: costBehind, found: this.found() };
  }

  private addOf(title: string, run: string, says: string): void {
    this.add({ ...plain, title }, { run, seq: 0, says }, true);
  }

  private add(of: Named, example: Example, isRun: boolean, nearest = 0): void {
    const key = JSON.stringify(of);
    let kind = this.kinds.get(key);
    if (kind === undefined) this.kinds.set(key, (kind = { ...of, count: 0, nearest, examples: [] }));
    kind.nearest = Math.min(kind.nearest, nearest);
    if (isRun) kind.count += 1;
    if (kind.examples.length < examplesMax) kind.examples.push(example);
  }
}
