// A value of a run as text: readable JSON, the first part of a long one, and the rest when it is asked for.
import { useSignal } from "@preact/signals";
import type { Json } from "../../api/types";

const charactersMax = 4_000;
const piece = 200_000; // what is added by each further look

const textOf = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

export function Value({ value, label }: { value: Json; label?: string }) {
  const shown = useSignal(charactersMax);
  const text = textOf(value);
  const isProse = typeof value === "string";
  return (
    <>
      <pre class={isProse ? "value prose" : "value"} aria-label={label} tabIndex={0}>
        <bdi>{text.slice(0, shown.value)}</bdi>
      </pre>
      {text.length > shown.value && (
        <button type="button" class="quiet" onClick={() => (shown.value += piece)}>
          More of {text.length.toLocaleString()} characters
        </button>
      )}
    </>
  );
}

// On one line.
export function Brief({ value, most = 120 }: { value: Json; most?: number }) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return <bdi>{text.length > most ? `${text.slice(0, most)}…` : text}</bdi>;
}

// Members with a line each, which open to the whole value.
export function Members({ of }: { of: Record<string, Json> }) {
  return (
    <div class="members">
      {Object.entries(of).map(([name, value]) => (
        <details key={name}>
          <summary><code><bdi>{name}</bdi></code> <span class="muted"><Brief value={value} most={90} /></span></summary>
          <Value value={value} label={name} />
        </details>
      ))}
    </div>
  );
}
