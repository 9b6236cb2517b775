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

// What JSON.stringify would leave out or replace without a word.
function refuseLoss(name: string, value: unknown): unknown {
  const isLost =
    typeof value === "number"
      ? !Number.isFinite(value)
      : typeof value === "function" || typeof value === "symbol" || value instanceof Map || value instanceof Set;
  if (isLost) throw new TypeError(`${name || "it"} is ${Object.prototype.toString.call(value)} (${String(value)})`);
  return value;
}

// Throws for a value that JSON would change.
export function exactJson(value: unknown): string {
  return JSON.stringify(value, refuseLoss);
}
