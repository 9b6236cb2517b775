// The limits of a queue as texts to edit, and edited texts as a change.
import type { Queue } from "../../api/types";

export interface LimitTexts {
  concurrency: string;
  rate: string;
  per: string;
  burst: string;
}

export interface Asked {
  concurrency?: number | null;
  rate?: { n: number; per_ms: number; burst: number } | null;
  paused?: boolean;
  revision?: number;
}

type Limits = Pick<Queue, "concurrency" | "rate" | "paused">;

const countMax = 1_000_000;
const secondsMax = 366 * 24 * 3600;

export function limitTexts({ concurrency, rate }: Limits): LimitTexts {
  return {
    concurrency: concurrency === null ? "" : String(concurrency),
    rate: rate === null ? "" : String(rate.n),
    per: rate === null ? "" : String(rate.per_ms / 1000),
    burst: rate === null ? "" : String(rate.burst),
  };
}

const isCount = (count: number) => Number.isInteger(count) && count >= 1 && count <= countMax;

// The whole of both limits, and the revision that was seen, so that an edit by another person in between is not undone;
// a sentence where they are none.
export function askedLimits(queue: Queue, texts: LimitTexts): Asked | string {
  const asked: Asked = { concurrency: null, rate: null, revision: queue.revision };
  const most = countMax.toLocaleString();
  if (texts.concurrency.trim() !== "") {
    asked.concurrency = Number(texts.concurrency);
    if (!isCount(asked.concurrency)) return `A whole number from 1 to ${most}, or nothing for no limit.`;
  }
  if (texts.rate.trim() === "") return asked;
  const seconds = Number(texts.per.trim() || "1");
  const rate = { n: Number(texts.rate), per_ms: Math.round(seconds * 1000), burst: Number(texts.burst.trim() || "1") };
  if (!isCount(rate.n) || !isCount(rate.burst)) return `Whole numbers from 1 to ${most}, or nothing for no rate.`;
  if (!(rate.per_ms >= 1 && seconds <= secondsMax)) return "A time from 0.001 seconds to a year.";
  asked.rate = rate;
  return asked;
}

export function optionsOf(asked: Asked): string {
  if (asked.paused !== undefined) return asked.paused ? "--pause" : "--resume";
  const concurrency = `--concurrency ${asked.concurrency ?? "none"}`;
  const { rate } = asked;
  const rates = rate == null ? "--rate none" : `--rate ${rate.n} --per ${rate.per_ms}ms --burst ${rate.burst}`;
  return `${concurrency} ${rates} --revision ${asked.revision}`;
}

export function rateWords(rate: NonNullable<Queue["rate"]>): string {
  return `${rate.n.toLocaleString()} in each ${rate.per_ms / 1000} s, and ${rate.burst.toLocaleString()} at once`;
}

export function limitWords({ concurrency, rate, paused }: Limits): string {
  const words = [concurrency === null ? "any number held at once" : `at most ${concurrency} held at once`];
  if (rate !== null) words.push(`${rateWords(rate)} begin`);
  if (paused) words.push("paused");
  return words.join("; ");
}
