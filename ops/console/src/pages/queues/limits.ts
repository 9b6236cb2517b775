// The limits of a queue as texts to edit, and edited texts as a change.
import type { Queue } from "../../api/types";

type Rate = NonNullable<Queue["rate"]>;

export interface RateTexts {
  rate: string;
  per: string;
  burst: string;
}

// Of the queue as a whole, or of each of its keys.
export interface ShareTexts extends RateTexts {
  concurrency: string;
}

export interface LimitTexts {
  all: ShareTexts;
  key: string;
  each: ShareTexts;
  ageing: string;
}

export interface Asked {
  concurrency?: number | null;
  rate?: Rate | null;
  key?: string | null;
  key_concurrency?: number | null;
  key_rate?: Rate | null;
  ageing_ms?: number | null;
  paused?: boolean;
  revision?: number;
}

type Limits = Pick<Queue, "concurrency" | "rate" | "key" | "key_concurrency" | "key_rate" | "ageing_ms" | "paused">;

const countMax = 1_000_000;
const secondsMax = 366 * 24 * 3600;
const ageingSecondsMax = 30 * 24 * 3600;

const shareTexts = (concurrency: number | null, rate: Rate | null): ShareTexts => ({
  concurrency: concurrency === null ? "" : String(concurrency),
  rate: rate === null ? "" : String(rate.n),
  per: rate === null ? "" : String(rate.per_ms / 1000),
  burst: rate === null ? "" : String(rate.burst),
});

export function limitTexts(queue: Limits): LimitTexts {
  return {
    all: shareTexts(queue.concurrency, queue.rate),
    key: queue.key ?? "",
    each: shareTexts(queue.key_concurrency, queue.key_rate),
    ageing: queue.ageing_ms === null ? "" : String(queue.ageing_ms / 1000),
  };
}

const isCount = (count: number) => Number.isInteger(count) && count >= 1 && count <= countMax;

function askedShare(texts: ShareTexts): { concurrency: number | null; rate: Rate | null } | string {
  const most = countMax.toLocaleString();
  let concurrency: number | null = null;
  if (texts.concurrency.trim() !== "") {
    concurrency = Number(texts.concurrency);
    if (!isCount(concurrency)) return `A whole number from 1 to ${most}, or nothing for no limit.`;
  }
  if (texts.rate.trim() === "") return { concurrency, rate: null };
  const seconds = Number(texts.per.trim() || "1");
  const rate = { n: Number(texts.rate), per_ms: Math.round(seconds * 1000), burst: Number(texts.burst.trim() || "1") };
  if (!isCount(rate.n) || !isCount(rate.burst)) return `Whole numbers from 1 to ${most}, or nothing for no rate.`;
  if (!(rate.per_ms >= 1 && seconds <= secondsMax)) return "A time from 0.001 seconds to a year.";
  return { concurrency, rate };
}

// The whole of all limits but the weights, and the revision that was seen, so that an edit by another person in between
// is not undone; a sentence where they are none.
export function askedLimits(queue: Queue, texts: LimitTexts): Asked | string {
  const all = askedShare(texts.all);
  if (typeof all === "string") return all;
  const key = texts.key.trim();
  const each = key === "" ? { concurrency: null, rate: null } : askedShare(texts.each);
  if (typeof each === "string") return each;
  const ageing = texts.ageing.trim() === "" ? null : Number(texts.ageing);
  if (ageing !== null && !(ageing >= 0.001 && ageing <= ageingSecondsMax))
    return "A time from 0.001 seconds to 30 days, or nothing for no ageing.";
  return {
    ...all,
    key: key === "" ? null : key,
    key_concurrency: each.concurrency,
    key_rate: each.rate,
    ageing_ms: ageing === null ? null : Math.round(ageing * 1000),
    revision: queue.revision,
  };
}

const shareOptions = (prefix: string, concurrency: number | null | undefined, rate: Rate | null | undefined) =>
  `--${prefix}concurrency ${concurrency ?? "none"} ` + (rate == null ? `--${prefix}rate none`
    : `--${prefix}rate ${rate.n} --${prefix}per ${rate.per_ms}ms --${prefix}burst ${rate.burst}`);

export function optionsOf(asked: Asked, quoted: (text: string) => string): string {
  if (asked.paused !== undefined) return asked.paused ? "--pause" : "--resume";
  const keys = asked.key == null ? "--key none"
    : `--key ${quoted(asked.key)} ${shareOptions("key-", asked.key_concurrency, asked.key_rate)}`;
  const ageing = `--ageing ${asked.ageing_ms == null ? "none" : `${asked.ageing_ms}ms`}`;
  return `${shareOptions("", asked.concurrency, asked.rate)} ${keys} ${ageing} --revision ${asked.revision}`;
}

export function rateWords(rate: Rate): string {
  return `${rate.n.toLocaleString()} in each ${rate.per_ms / 1000} s, and ${rate.burst.toLocaleString()} at once`;
}

export function limitWords(queue: Limits): string {
  const { concurrency, rate, key } = queue;
  const words = [concurrency === null ? "any number held at once" : `at most ${concurrency} held at once`];
  if (rate !== null) words.push(`${rateWords(rate)} begin`);
  if (key !== null) {
    words.push(`in turns by ${key}`);
    if (queue.key_concurrency !== null) words.push(`at most ${queue.key_concurrency} of each`);
    if (queue.key_rate !== null) words.push(`${rateWords(queue.key_rate)} of each`);
  }
  if (queue.ageing_ms !== null) words.push(`a priority less after ${queue.ageing_ms / 1000} s`);
  if (queue.paused) words.push("paused");
  return words.join("; ");
}
