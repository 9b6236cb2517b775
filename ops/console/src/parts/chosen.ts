// Rows that are walked by keys in a list that changes while it is looked at: what was chosen stays chosen wherever it
// moves, so that the row that opens is the one that is marked.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useKeys } from "../keys";

interface Walk<T> {
  rows: T[];
  nameOf: (row: T) => string;
  noun: string; // of a row
  open: (row: T) => void;
  opens?: string; // what Enter does
}

// The place of the chosen row; -1: none, or it is not in the list any more.
export function useChosen<T>({ rows, nameOf, noun, open, opens = `Open the ${noun}` }: Walk<T>): number {
  const name = useSignal<string | undefined>(undefined);
  const shown = useRef({ rows, open });
  shown.current = { rows, open };
  const place = () => shown.current.rows.findIndex((row) => nameOf(row) === name.value);
  const move = (by: number) => {
    const to = Math.min(Math.max(place() + by, 0), shown.current.rows.length - 1);
    const row = shown.current.rows[to];
    if (row === undefined) return;
    name.value = nameOf(row);
    document.querySelector(`[data-row="${to}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { keys: "j", says: `Next ${noun}`, act: () => move(1) },
    { keys: "k", says: `${noun[0]!.toUpperCase()}${noun.slice(1)} before`, act: () => move(-1) },
    { keys: "Enter", says: opens, act: () => {
      const row = shown.current.rows[place()];
      if (row !== undefined) shown.current.open(row);
    } },
  ]);
  return place();
}
