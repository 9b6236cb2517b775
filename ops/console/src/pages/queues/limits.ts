// The limits of a queue as texts to edit, and edited texts as a change.
import type { Queue } from "../../api/types";
import { askedWeights, weightTexts, weightWords, type Weights } from "./weights";
import {
  askedBudgets, askedReserve, budgetTexts, budgetWords, reserveTexts, reserveWords, type Budget, type Reserve,
} from "./budgets";

type Rate = NonNullable<Queue["rate"]>;

export interface RateTexts {
  rate: string;
  per: string;
  burst: string;
}

// Of the queue as a whole, or of each of its keys.
export interface ShareTexts extends RateTexts {
  concurrency: string;
  budgets: string;
}

export interface LimitTexts {
  all: ShareTexts;
  reserve: string;
  key: string;
  each: ShareTexts;
  weights: string;
  ageing: string;
}

export interface Asked {
  concurrency?: number | null;
  rate?: Rate | null;
  budgets?: Budget[];
  reserve?: Reserve;
  key?: string | null;
  key_concurrency?: number | null;
  key_rate?: Rate | null;
  key_budgets?: Budget[];
  weights?: Weights;
  ageing_ms?: number | null;
  paused?: boolean;
  revision?: number;
}

type Limits = Pick<Queue, "concurrency" | "rate" | "budgets" | "reserve" | "key" | "key_concurrency" | "key_rate" |
  "key_budgets" | "weights" | "ageing_ms" | "paused">;

// What is set for all steps of a queue, or for those of each key.
interface Share {
  concurrency: number | null;
  rate: Rate | null;
  budgets: Budget[];
}

const countMax = 1_000_000;
const secondsMax = 366 * 24 * 3600;
const ageingSecondsMax = 30 * 24 * 3600;

const shareTexts = ({ concurrency, rate, budgets }: Share): ShareTexts => ({
  concurrency: concurrency === null ? "" : String(concurrency),
  rate: rate === null ? "" : String(rate.n),
  per: rate === null ? "" : String(rate.per_ms / 1000),
  burst: rate === null ? "" : String(rate.burst),
  budgets: budgetTexts(budgets).join(", "),
});

const shareOfKeys = (queue: Limits): Share =>
  ({ concurrency: queue.key_concurrency, rate: queue.key_rate, budgets: queue.key_budgets });

export function limitTexts(queue: Limits): LimitTexts {
  return {
    all: shareTexts(queue),
    reserve: reserveTexts(queue.reserve).join(", "),
    key: queue.key ?? "",
    each: shareTexts(shareOfKeys(queue)),
    weights: weightTexts(queue.weights).join("\n"),
    ageing: queue.ageing_ms === null ? "" : String(queue.ageing_ms / 1000),
  };
}

const nothingSet: Share = { concurrency: null, rate: null, budgets: [] };
const isCount = (count: number) => Number.isInteger(count) && count >= 1 && count <= countMax;

function askedRate(texts: RateTexts): Rate | null | string {
  if (texts.rate.trim() === "") return null;
  const seconds = Number(texts.per.trim() || "1");
  const rate = { n: Number(texts.rate), per_ms: Math.round(seconds * 1000), burst: Number(texts.burst.trim() || "1") };
  if (!isCount(rate.n) || !isCount(rate.burst))
    return `Whole numbers from 1 to ${countMax.toLocaleString()}, or nothing for no rate.`;
  if (!(rate.per_ms >= 1 && seconds <= secondsMax)) return "A time from 0.001 seconds to a year.";
  return rate;
}

function askedShare(texts: ShareTexts): Share | string {
  const concurrency = texts.concurrency.trim() === "" ? null : Number(texts.concurrency);
  if (concurrency !== null && !isCount(concurrency))
    return `A whole number from 1 to ${countMax.toLocaleString()}, or nothing for no limit.`;
  const rate = askedRate(texts);
  if (typeof rate === "string") return rate;
  const budgets = askedBudgets(texts.budgets);
  if (typeof budgets === "string") return budgets;
  return { concurrency, rate, budgets };
}

// The whole of all limits, and the revision that was seen, so that an edit by another person in between
// is not undone; a sentence where they are none.
export function askedLimits(queue: Queue, texts: LimitTexts): Asked | string {
  const all = askedShare(texts.all);
  if (typeof all === "string") return all;
  const reserve = askedReserve(texts.reserve);
  if (typeof reserve === "string") return reserve;
  const key = texts.key.trim();
  const each = key === "" ? nothingSet : askedShare(texts.each);
  if (typeof each === "string") return each;
  const weights = askedWeights(key === "" ? "" : texts.weights, key === "" ? {} : queue.weights);
  if (typeof weights === "string") return weights;
  const ageing = texts.ageing.trim() === "" ? null : Number(texts.ageing);
  if (ageing !== null && !(ageing >= 0.001 && ageing <= ageingSecondsMax))
    return "A time from 0.001 seconds to 30 days, or nothing for no ageing.";
  return {
    ...all,
    reserve,
    key: key === "" ? null : key,
    key_concurrency: each.concurrency,
    key_rate: each.rate,
    key_budgets: each.budgets,
    ...(Object.keys(weights).length === 0 ? {} : { weights }),
    ageing_ms: ageing === null ? null : Math.round(ageing * 1000),
    revision: queue.revision,
  };
}

// An option for each of the texts; without one, the option by which there is none.
const listOptions = (option: string, texts: string[]) =>
  (texts.length === 0 ? ["none"] : texts).map((text) => `${option} ${text}`).join(" ");

const shareOptions = (prefix: string, concurrency: number | null | undefined, rate: Rate | null | undefined,
  budgets: Budget[] = []) =>
  `--${prefix}concurrency ${concurrency ?? "none"} ` + (rate == null ? `--${prefix}rate none`
    : `--${prefix}rate ${rate.n} --${prefix}per ${rate.per_ms}ms --${prefix}burst ${rate.burst}`) +
  ` ${listOptions(`--${prefix}budget`, budgetTexts(budgets))}`;

export function optionsOf(asked: Asked, quoted: (text: string) => string): string {
  if (asked.paused !== undefined) return asked.paused ? "--pause" : "--resume";
  const reserve = listOptions("--reserve", reserveTexts(asked.reserve ?? {}));
  const keys = asked.key == null ? "--key none"
    : `--key ${quoted(asked.key)} ${shareOptions("key-", asked.key_concurrency, asked.key_rate, asked.key_budgets)}` +
      Object.entries(asked.weights ?? {}).map(([of, weight]) => ` --weight ${quoted(`${of}=${weight ?? "none"}`)}`)
        .join("");
  const ageing = `--ageing ${asked.ageing_ms == null ? "none" : `${asked.ageing_ms}ms`}`;
  return [shareOptions("", asked.concurrency, asked.rate, asked.budgets), reserve, keys, ageing,
    `--revision ${asked.revision}`].join(" ");
}

export function rateWords(rate: Rate): string {
  return `${rate.n.toLocaleString()} in each ${rate.per_ms / 1000} s, and ${rate.burst.toLocaleString()} at once`;
}

// Without how many are held at once, and the pause, which a table of queues shows otherwise.
export function furtherWords(queue: Limits): string[] {
  const { rate, key } = queue;
  const reserve = reserveWords(queue.reserve);
  const words: string[] = [];
  if (rate !== null) words.push(`${rateWords(rate)} begin`);
  words.push(...queue.budgets.map(budgetWords));
  if (reserve !== "") words.push(`each step reserves ${reserve}`);
  if (key !== null) {
    words.push(`in turns by ${key}`);
    if (queue.key_concurrency !== null) words.push(`at most ${queue.key_concurrency} of each`);
    if (queue.key_rate !== null) words.push(`${rateWords(queue.key_rate)} of each`);
    words.push(...queue.key_budgets.map((budget) => `${budgetWords(budget)} of each`));
    words.push(...weightWords(queue.weights));
  }
  if (queue.ageing_ms !== null) words.push(`a priority less after ${queue.ageing_ms / 1000} s`);
  return words;
}

export function limitWords(queue: Limits): string {
  const { concurrency } = queue;
  const held = concurrency === null ? "any number held at once" : `at most ${concurrency} held at once`;
  return [held, ...furtherWords(queue), ...(queue.paused ? ["paused"] : [])].join("; ");
}
