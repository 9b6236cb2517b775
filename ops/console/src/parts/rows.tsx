// A long list whose rows have one height: only those in view are there, and which ones follows from the place of the
// scroll bar alone.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props {
  count: number;
  height: number; // of a row, in pixels
  label: string;
  at?: number; // the row to keep in view
  class?: string;
  row: (index: number) => ComponentChildren;
}

const spare = 6; // rows before and after those in view

export function Rows({ count, height, label, at, row, class: name = "" }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const seen = useSignal(600);
  useEffect(() => {
    const list = place.current!;
    const watch = new ResizeObserver(() => (seen.value = list.clientHeight));
    watch.observe(list);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const list = place.current!;
    if (at === undefined) return;
    const from = at * height;
    if (from < list.scrollTop || from + height > list.scrollTop + list.clientHeight)
      list.scrollTop = from - list.clientHeight / 2;
  }, [at, count > 0]);
  const first = Math.max(0, Math.floor(top.value / height) - spare);
  const last = Math.min(count, Math.ceil((top.value + seen.value) / height) + spare);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(row(index));
  return (
    <div ref={place} class={`rows ${name}`} tabIndex={0} role="region" aria-label={label}
      style={{ maxHeight: `${count * height + 2}px` }}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}>
      <div class="rows-all" style={{ height: `${count * height}px` }}>
        <div class="rows-seen" style={{ transform: `translateY(${first * height}px)` }}>{rows}</div>
      </div>
    </div>
  );
}
