// A step as its function sees it, and the report that its outcome becomes.
import type { Any, Claim, Fact, Fields, Report } from "./api.js";
import { Again, exactJson, Final } from "./failures.js";
import { sentenceOf } from "./http.js";
import { askModel, type ModelReply } from "./model.js";
import type { Message, ModelOptions } from "./model_api.js";

// An outcome that leaves by another label than the handler's only one.
export class Label {
  constructor(readonly label: string, readonly patch: object) {}
}

export function label(name: string, patch: object = {}): Label {
  return new Label(name, patch);
}

// What a function may know of its step.
export interface Context {
  readonly claim: string;
  readonly run: string;
  readonly graph: string;
  readonly node: string;
  readonly step: number;
  readonly attempt: number;
  readonly key: string; // the idempotency key of the step's effects
  readonly tags: Readonly<Record<string, string>>;
  readonly data: Fields; // the channels that the handler reads
  readonly given: Any;
  readonly plan: Any[];
  readonly failed: { error: string; message: string } | undefined; // why the attempt before this one failed

  // The step was cancelled, its hold was lost, or its time is over: what it still brings does not count.
  readonly cancelled: boolean;
  readonly signal: AbortSignal; // aborted at that moment

  // Shown to those who watch the run, until the step ends; of a longer text its last 64 KiB.
  progress(text: string): void;
  // Puts a fact (model_called, tool_called, decision_proposed ...) on record with the outcome.
  record(type: string, fields?: Fields): void;
  // Asks the model of CAIRN_MODEL_URL once, and puts the call on record. `messages` are those of chat completions, or a
  // text. Throws Again for 408, 429, 5xx, no answer and a bad reply, Final otherwise; the function may let them pass.
  model(messages: string | Message[], options?: ModelOptions): Promise<ModelReply>;
}

const progressBytesMax = 64 * 1024;

// At most so many bytes of UTF-8; half a character, and half a pair of surrogates, are left out or replaced.
function endOfText(text: string): string {
  const bytes = new TextEncoder().encode(text.slice(-progressBytesMax));
  let from = Math.max(bytes.length - progressBytesMax, 0);
  while (from > 0 && (bytes[from]! & 0xc0) === 0x80) ++from;
  return new TextDecoder().decode(bytes.subarray(from));
}

export class Step implements Context {
  readonly #claim: Claim;
  readonly #deadline: number;
  #controller: AbortController | undefined;
  #isAborted = false;
  isEnded = false;
  timer: ReturnType<typeof setTimeout> | undefined; // for the end of its time
  said: string | undefined; // the last progress
  heard: string | undefined; // that of them which the API has heard last
  heardAt = 0;
  facts: Fact[] | undefined;
  #modelCalls = 0;

  constructor(claim: Claim) {
    this.#claim = claim;
    this.#deadline = performance.now() + claim.deadline_ms;
  }

  get claim() { return this.#claim.claim; }
  get run() { return this.#claim.run; }
  get graph() { return this.#claim.graph; }
  get node() { return this.#claim.node; }
  get step() { return this.#claim.step; }
  get attempt() { return this.#claim.attempt; }
  get key() { return this.#claim.key; }
  get tags() { return this.#claim.tags; }
  get data() { return this.#claim.data ?? {}; }
  get given() { return this.#claim.given; }
  get plan() { return this.#claim.plan ?? []; }
  get failed() { return this.#claim.failed; }
  get isTool() { return this.#claim.tool !== undefined; }
  get leftMs() { return this.#deadline - performance.now(); }

  get cancelled(): boolean {
    return this.#isAborted || this.leftMs < 0;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.cancelled) this.#controller.abort(new Error("The step is no longer wanted."));
    return this.#controller.signal;
  }

  progress(text: string): void {
    this.said = endOfText(String(text));
  }

  record(type: string, fields: Fields = {}): void {
    (this.facts ??= []).push({ ...fields, type });
  }

  model(messages: string | Message[], options: ModelOptions = {}): Promise<ModelReply> {
    const said = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
    const { node, leftMs, signal } = this;
    const record = this.record.bind(this);
    return askModel({ request: { ...options, messages: said }, node, key: this.#modelKey(), leftMs, signal, record });
  }

  // Another call needs another key, and so does one after a bad reply, which the same key would bring again.
  #modelKey(): string {
    const key = ++this.#modelCalls === 1 ? this.key : `${this.key}#${this.#modelCalls}`;
    return this.failed?.error === "bad_reply" || this.attempt > 2 ? `${key}/${this.attempt}` : key;
  }

  abort(): void {
    this.#isAborted = true;
    if (this.#controller) void this.signal;
  }
}

// --- reports --------------------------------------------------------------------------------------------------------

type Said = Omit<Report, "claim" | "facts">;

export const timeout: Said = { error: "timeout", message: "Expected an outcome in time.", again: true };

export function outcomeOf(result: unknown, isTool: boolean): Said {
  if (result instanceof Label && !isTool) return { label: result.label, patch: result.patch };
  const value = result ?? {};
  if (Array.isArray(value)) return notJson("Expected an object as the outcome, but it is a list.");
  if (typeof value !== "object") return notJson(`Expected an object as the outcome, but it is ${String(value)}.`);
  return isTool ? { outputs: value } : { patch: value };
}

function notJson(message: string): Said {
  return { error: "invalid", again: false, message };
}

const retryMsMax = 3_600_000; // the longest pause that the server takes
const messageMax = 32 * 1024; // about as much of a message as it keeps

// Of anything that may be thrown: the report of a failure must not fail by it.
export function failureOf(thrown: unknown): Said {
  const message = messageOf(sentenceOf(thrown));
  try {
    const given = (thrown as { error?: unknown } | null | undefined)?.error;
    const retryMs = thrown instanceof Again ? Math.min(Math.round(thrown.retryMs), retryMsMax) : 0;
    return {
      error: typeof given === "string" ? given : "error",
      message,
      again: !(thrown instanceof Final),
      ...(retryMs > 0 ? { retry_ms: retryMs } : {}),
    };
  } catch {
    return { error: "error", message, again: true };
  }
}

// With the place where it was thrown, if that is known; "": the function meant it.
export function bugOf(thrown: unknown): string {
  try {
    if (thrown instanceof Again || thrown instanceof Final) return "";
    const stack = (thrown as { stack?: unknown } | null | undefined)?.stack;
    return typeof stack === "string" ? stack : sentenceOf(thrown);
  } catch {
    return sentenceOf(thrown);
  }
}

// The API takes no half of a pair of surrogates, and no NUL.
function messageOf(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text.slice(0, messageMax))).replaceAll("\0", "\ufffd");
}

export function reportText(step: Step, said: Said): string {
  const facts = step.facts && !("release" in said) ? { facts: step.facts } : {};
  try {
    return exactJson({ claim: step.claim, ...said, ...facts });
  } catch (fault) {
    const message = messageOf(`Expected an outcome that is JSON, but: ${sentenceOf(fault)}`);
    return JSON.stringify({ claim: step.claim, ...notJson(message) });
  }
}
