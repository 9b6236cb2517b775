// From times to places on a line from 0 to 1, where long stretches in which nothing was executed take little room.
export interface Fold {
  from: number;
  to: number;
  place: number; // its middle on the line
}

export interface TimeScale {
  place: (ms: number) => number;
  folds: Fold[];
}

interface Stretch {
  from: number;
  to: number;
}

const foldRoom = 0.03; // of the line, for each fold, if there are few
const foldShare = 0.12; // a stretch that is shorter than this share of the whole stays as it is

// The stretches in which something was executed, merged and in order.
function merged(busy: Stretch[]): Stretch[] {
  const sorted = [...busy].sort((a, b) => a.from - b.from);
  const all: Stretch[] = [];
  for (const { from, to } of sorted) {
    const last = all[all.length - 1];
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}

function gapsIn(busy: Stretch[], from: number, to: number): Stretch[] {
  const gaps: Stretch[] = [];
  let end = from;
  for (const stretch of merged(busy)) {
    if (stretch.from > end) gaps.push({ from: end, to: stretch.from });
    end = Math.max(end, stretch.to);
  }
  if (to > end) gaps.push({ from: end, to });
  return gaps;
}

export function timeScale(busy: Stretch[], from: number, to: number): TimeScale {
  const whole = Math.max(to - from, 1);
  const gaps = gapsIn(busy, from, to)
    .filter((gap) => gap.to - gap.from > Math.max(1000, whole * foldShare))
    .sort((a, b) => a.from - b.from);
  const room = Math.min(foldRoom, 0.3 / Math.max(gaps.length, 1));
  const folded = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const perMs = (1 - room * gaps.length) / Math.max(whole - folded, 1);
  const place = (ms: number): number => {
    let at = 0;
    let end = from;
    for (const gap of gaps) {
      if (ms <= gap.from) break;
      at += (gap.from - end) * perMs;
      if (ms < gap.to) return at + (room * (ms - gap.from)) / (gap.to - gap.from);
      at += room;
      end = gap.to;
    }
    return Math.min(1, Math.max(0, at + (ms - end) * perMs));
  };
  return { place, folds: gaps.map((gap) => ({ ...gap, place: place((gap.from + gap.to) / 2) })) };
}
