// The keys j and k on a page whose parts are no rows: they go from one part to the next.
import { useKeys } from "../keys";

function move(selector: string, by: number): void {
  const parts = [...document.querySelectorAll<HTMLElement>(selector)];
  const at = parts.findIndex((part) => part.contains(document.activeElement));
  const to = parts[Math.min(Math.max(at + by, 0), parts.length - 1)];
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}

// The parts have a tabIndex of -1.
export function useWalk(selector: string, noun: string): void {
  useKeys([
    { keys: "j", says: `Next ${noun}`, act: () => move(selector, 1) },
    { keys: "k", says: `${noun[0]!.toUpperCase()}${noun.slice(1)} before`, act: () => move(selector, -1) },
  ]);
}
