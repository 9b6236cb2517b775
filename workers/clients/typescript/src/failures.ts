// Failures of an attempt, as a function throws them, and the JSON that is sent as it was meant.

// The attempt has failed, and another one may succeed: in `retryMs` at the earliest.
export class Again extends Error {
  override name = "Again";
  readonly error: string;
  readonly retryMs: number;
  constructor(message: string, { error = "error", retryMs = 0 }: { error?: string; retryMs?: number } = {}) {
    super(message);
    this.error = error;
    this.retryMs = retryMs;
  }
}

// The attempt has failed, and no other one would succeed.
export class Final extends Error {
  override name = "Final";
  readonly error: string;
  constructor(message: string, { error = "error" }: { error?: string } = {}) {
    super(message);
    this.error = error;
  }
}

// True also for promises of other realms and libraries.
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  return isObject && typeof (value as { then?: unknown }).then === "function";
}

// What JSON.stringify would leave out or replace without a word.
const lostObjects = [Map, Set, Error, RegExp];

function isLost(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value === "function" || typeof value === "symbol") return true;
  return isPromise(value) || lostObjects.some((kind) => value instanceof kind);
}

function refuseLoss(name: string, value: unknown): unknown {
  if (!isLost(value)) return value;
  const hint = isPromise(value) ? ": is an await missing?" : "";
  throw new TypeError(`${name || "it"} is ${Object.prototype.toString.call(value)} (${String(value)})${hint}`);
}

// Throws for a value that JSON would change.
export function exactJson(value: unknown): string {
  return JSON.stringify(value, refuseLoss);
}
