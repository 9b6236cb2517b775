// The rows that newer ones have pushed off a list's first page.

// Those of the page `before` that are older than all of the page `now`, in their order. A row that is missing between
// others matches no more. Undefined: the two have no row in common, so that there may be others between them.
export function pushedOff<R>(before: R[], now: R[], nameOf: (row: R) => string): R[] | undefined {
  const there = new Set(now.map(nameOf));
  const last = before.findLastIndex((row) => there.has(nameOf(row)));
  return last < 0 && before.length > 0 ? undefined : before.slice(last + 1);
}
