// The difference of two texts, line by line: the shortest way from one to the other (Myers 1986). Texts that differ in
// more than `editsMax` lines are shown as wholly replaced where they differ.
export interface Line {
  kind: "same" | "removed" | "added";
  text: string;
  before: number; // its number in the old text, from 1; 0: it is not there
  after: number;
}

const editsMax = 2_000;

// For each number of edits the furthest places reached on each diagonal; nothing: too many edits.
function trace(a: string[], b: string[]): Map<number, number>[] | undefined {
  const rounds: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, editsMax); edits += 1) {
    rounds.push(reached);
    const next = new Map(reached);
    for (let k = -edits; k <= edits; k += 2) {
      const goesDown = k === -edits || (k !== edits && (reached.get(k - 1) ?? 0) < (reached.get(k + 1) ?? 0));
      let x = goesDown ? reached.get(k + 1) ?? 0 : (reached.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return rounds;
    }
    reached = next;
  }
  return undefined;
}

function replaced(a: string[], b: string[]): Line[] {
  return [
    ...a.map((text, at): Line => ({ kind: "removed", text, before: at + 1, after: 0 })),
    ...b.map((text, at): Line => ({ kind: "added", text, before: 0, after: at + 1 })),
  ];
}

function shortest(a: string[], b: string[]): Line[] {
  const rounds = trace(a, b);
  if (rounds === undefined) return replaced(a, b);
  const lines: Line[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = rounds.length - 1; edits >= 0; edits -= 1) {
    const reached = rounds[edits]!;
    const k = x - y;
    const goesDown = k === -edits || (k !== edits && (reached.get(k - 1) ?? 0) < (reached.get(k + 1) ?? 0));
    const fromX = reached.get(goesDown ? k + 1 : k - 1) ?? 0;
    const fromY = fromX - (goesDown ? k + 1 : k - 1);
    while (x > Math.max(fromX, 0) && y > Math.max(fromY, 0)) {
      lines.push({ kind: "same", text: a[x - 1]!, before: x, after: y });
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    lines.push(goesDown ? { kind: "added", text: b[y - 1]!, before: 0, after: y }
      : { kind: "removed", text: a[x - 1]!, before: x, after: 0 });
    if (goesDown) y -= 1;
    else x -= 1;
  }
  return lines.reverse();
}

// What both begin and end with is not looked at.
export function differenceOf(old: string, now: string): Line[] {
  const [a, b] = [old.split("\n"), now.split("\n")];
  let head = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const same = (from: number, count: number, shift: number): Line[] =>
    a.slice(from, from + count).map((text, at) => ({ kind: "same", text, before: from + at + 1,
      after: from + at + 1 + shift }));
  const middle = shortest(a.slice(head, a.length - tail), b.slice(head, b.length - tail)).map((line) => ({
    ...line, before: line.before === 0 ? 0 : line.before + head, after: line.after === 0 ? 0 : line.after + head,
  }));
  return [...same(0, head, 0), ...middle, ...same(a.length - tail, tail, b.length - a.length)];
}
