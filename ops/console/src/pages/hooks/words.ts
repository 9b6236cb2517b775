// Hooks and their notices in the words of a person.
import type { Hook, HookDelivery } from "../../api/types";
import { duration } from "../../parts/time";

export type Occasion = Hook["on"][number];

export const occasions: Record<Occasion, string> = {
  ended: "A run has ended, however it ended",
  failed: "A run has failed",
  waits: "A question has opened",
  budget: "A budget is used up or a limit broken",
  stalled: "A run stands still",
};

export type Standing = "on" | "paused" | "parked";

export const standingOf = (hook: Hook): Standing =>
  hook.paused !== null ? "paused" : hook.parked > 0 ? "parked" : "on";

// As `cairn doctor` has it: one could have been sent for a minute, and no process has taken it.
const lateMs = 60_000;
export const isLate = (hook: Hook, now: number) => hook.due_since !== null && now - Date.parse(hook.due_since) > lateMs;

export const span = (ms: number) => (ms < 60_000 ? `${ms / 1000} s` : duration(ms));

export const sentence = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

const types: Record<string, string> = {
  "dev.cairn.run.finished": "run ended",
  "dev.cairn.run.waits": "question opened",
  "dev.cairn.run.budget_exhausted": "budget used up",
  "dev.cairn.run.stalled": "run stands still",
  "dev.cairn.hook.test": "test",
};

export const typeWords = ({ type }: HookDelivery) => types[type] ?? type;

// The event of a run that the notice is about; nothing: it is a test.
export function eventOf({ id }: HookDelivery): { run: string; seq: string } | undefined {
  const [, run, seq] = /^([0-9a-f-]{36})\/(\d+)(?:\/stalled)?$/.exec(id) ?? [];
  return run === undefined || seq === undefined ? undefined : { run, seq };
}
