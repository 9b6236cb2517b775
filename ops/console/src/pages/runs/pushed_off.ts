// The rows that newer ones have pushed off a list's first page.
interface Row {
  run: string;
}

// Those of the page `before` that are older than all of the page `now`, in their order. A row that is missing between
// others matches no more. Undefined: the two have no row in common, so that there may be others between them.
export function pushedOff<R extends Row>(before: R[], now: R[]): R[] | undefined {
  const there = new Set(now.map((row) => row.run));
  const last = before.findLastIndex((row) => there.has(row.run));
  return last < 0 && before.length > 0 ? undefined : before.slice(last + 1);
}
