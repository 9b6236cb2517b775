// Times in the reader's zone, as how long ago, with the exact one on hover.
import { signal } from "@preact/signals";

export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

export function duration(ms: number): string {
  if (ms < 1) return ms <= 0 ? "0 ms" : "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ${Math.floor(s % 60)} s`;
  const h = Math.floor(min / 60);
  if (h < 48) return `${h} h ${min % 60} min`;
  return `${Math.floor(h / 24)} d ${h % 24} h`;
}

export function ago(ms: number): string {
  if (ms < 5_000) return "just now";
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 48 * 3_600_000) return `${Math.floor(ms / 3_600_000)} h ago`;
  return `${Math.floor(ms / 86_400_000)} d ago`;
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
export const localTime = (at: string) => exact.format(new Date(at));
export const exactTime = (at: string) => `${exact.format(new Date(at))} (${at})`;
export const clockTime = (at: string | number) => clock.format(new Date(at));

export function Time({ at }: { at: string }) {
  return <time dateTime={at} title={exactTime(at)}>{ago(now.value - Date.parse(at))}</time>;
}

// How long something has waited; more than a minute stands out.
export function Age({ since }: { since: string | null }) {
  if (since === null) return <span class="muted">–</span>;
  const age = Math.max(0, now.value - Date.parse(since));
  return <time dateTime={since} title={exactTime(since)} class={age > 60_000 ? "is-soon" : undefined}>
    {duration(age < 1000 ? age : Math.round(age / 1000) * 1000)}
  </time>;
}

// A time to come: how long until then.
export function Until({ at }: { at: string }) {
  const left = Date.parse(at) - now.value;
  return <time dateTime={at} title={exactTime(at)}>{left <= 0 ? "now" : `in ${duration(Math.ceil(left / 1000) * 1000)}`}
  </time>;
}

// A time of day and year, where how long ago says too little.
export function Exact({ at }: { at: string }) {
  return <time dateTime={at} title={exactTime(at)}>{localTime(at)}</time>;
}

export function Clock({ at }: { at: string }) {
  return <time dateTime={at} title={exactTime(at)}>{clockTime(at)}</time>;
}

// From a time until another, or until now.
export function Lasted({ from, to }: { from: string; to?: string | undefined }) {
  const end = to === undefined ? now.value : Date.parse(to);
  return <span class="number">{duration(Math.max(0, end - Date.parse(from)))}</span>;
}

// A sentence of the server in which some of these times stand: each as the reader's clock has it.
export function Timed({ text, times }: { text: string; times: (string | undefined)[] }) {
  const parts = text.split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/);
  return <>{parts.map((part) => (times.includes(part) ? <Exact at={part} /> : part))}</>;
}
