// Keys: the one place that listens to the keyboard. A page binds its own while it is shown; two letters in a row, as
// "g r", are one key.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export interface Binding {
  keys: string;
  says: string;
  act: () => void;
}

export const bindings = signal<Binding[]>([]);
export const isFilterAsked = signal(false); // by "/" on a page that has no filter of its own

let first = "";
let firstAt = 0;

function isTyping(target: EventTarget | null): boolean {
  const written = "input:not([type=range],[type=checkbox],[type=radio]),textarea,select";
  return target instanceof HTMLElement && target.matches(written);
}

// Enter and the space bar on what can be activated activate it.
function isActivating(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" && event.key !== " ") return false;
  return event.target instanceof Element && event.target.closest("a,button,summary,[role=button],input") !== null;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target instanceof HTMLElement && isTyping(event.target)) event.target.blur();
  if (isTyping(event.target) || isActivating(event) || document.querySelector("dialog[open]") !== null) return;
  const pair = performance.now() - firstAt < 1500 ? `${first} ${event.key}` : "";
  const found = (keys: string) => bindings.value.findLast((binding) => binding.keys === keys);
  const binding = found(pair) ?? (pair === "" || first === "" ? found(event.key) : undefined);
  const begins = bindings.value.some((one) => one.keys.startsWith(event.key + " "));
  first = binding === undefined && begins ? event.key : "";
  firstAt = performance.now();
  if (binding === undefined) return;
  event.preventDefault();
  binding.act();
});

// Binds the keys while the component is there, from its first picture on; what a later one binds comes first.
export function useKeys(added: Binding[], when: readonly unknown[] = []): void {
  useLayoutEffect(() => {
    bindings.value = [...bindings.peek(), ...added];
    return () => {
      bindings.value = bindings.peek().filter((binding) => !added.includes(binding));
    };
  }, when);
}
