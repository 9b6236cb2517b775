// Numbers over time, kept while the console is open: one row of samples for each name, the oldest go.
import { signal, type Signal } from "@preact/signals";

export interface Sample {
  at: number; // milliseconds
  values: Record<string, number>;
}

export const samplesMax = 300;
export const gapMs = 15_000; // after so long without a sample the line begins again

export class Samples {
  private readonly rows = new Map<string, Signal<Sample[]>>();

  of(name: string): Signal<Sample[]> {
    let row = this.rows.get(name);
    if (row === undefined) this.rows.set(name, (row = signal([])));
    return row;
  }

  // Of all names that are there now; one that is gone has zeros from then on.
  add(at: number, now: Map<string, Record<string, number>>): void {
    for (const [name, values] of now) this.put(name, { at, values });
    for (const [name, row] of this.rows) {
      const last = row.peek().at(-1);
      if (now.has(name) || last === undefined) continue;
      this.put(name, { at, values: Object.fromEntries(Object.keys(last.values).map((key) => [key, 0])) });
    }
  }

  private put(name: string, sample: Sample): void {
    const row = this.of(name);
    row.value = [...row.peek().slice(1 - samplesMax), sample];
  }
}
