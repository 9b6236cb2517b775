// Weights of the keys of a queue as lines to edit, KEY=N each: so many steps of that key begin in its turn.
import type { Queue } from "../../api/types";

export type Weights = Record<string, number | null>; // null: it has none

const weightMax = 1000;

// A key that a line would not give back as it is stands there as JSON.
const lineOf = (key: string) => (/^"|^\s|\s$|[\n\r]/.test(key) ? JSON.stringify(key) : key);

export const weightTexts = (weights: Queue["weights"] = {}) =>
  Object.entries(weights).map(([key, weight]) => `${lineOf(key)}=${weight}`);

export const weightWords = (weights: Queue["weights"] = {}) =>
  Object.entries(weights).map(([key, weight]) => `${key} weighs ${weight}`);

function keyOf(text: string): string | undefined {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
}

// The weights of the text, and null for those of `before` that it lacks; a sentence where a line is none.
export function askedWeights(text: string, before: Queue["weights"] = {}): Weights | string {
  const asked: Weights = Object.fromEntries(Object.keys(before).map((key) => [key, null]));
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    const at = line.lastIndexOf("=");
    const key = at <= 0 ? undefined : keyOf(line.slice(0, at).trim());
    const weight = Number(line.slice(at + 1));
    if (key === undefined || !(Number.isInteger(weight) && weight >= 1 && weight <= weightMax))
      return `Expected weights as KEY=N, where N is from 1 to ${weightMax.toLocaleString()}, a line each, but found ` +
        `${line.trim()}.`;
    asked[key] = weight;
  }
  return asked;
}
