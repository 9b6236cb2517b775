// Requests to the API by `fetch`, sent again while the server is away or busy.
import { env } from "./process.js";

// What the API refuses, or that it cannot be reached.
export class CairnError extends Error {
  override name = "CairnError";
}

// The API's refusal: its status, its code and its sentence.
export class Refused extends CairnError {
  override name = "Refused";
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

// No answer within the patience.
export class Unavailable extends CairnError {
  override name = "Unavailable";
}

// The connections break off, again and again, while a request is on its way.
export class Broken extends Unavailable {
  override name = "Broken";
}

export interface Address {
  url?: string | undefined; // CAIRN_URL, http://127.0.0.1:8080
  token?: string | undefined; // CAIRN_TOKEN
}

export interface Asked {
  body?: unknown;
  text?: string; // a body that is JSON already
  isOnce?: boolean; // a second request has another effect: it goes again only if it has not arrived
  timeoutMs?: number;
  patienceMs?: () => number; // asked after each failure: for how much longer it is sent again
  breaksMax?: number; // so many connections may break off within it: then it is Broken
  signal?: AbortSignal | undefined; // aborts the request: it throws the signal's reason
}

const notWhole = 408; // the time was over before all of the request was there
const busyAt = new Set([notWhole, 429, 503]);
const lostAt = new Set([502, 504]); // of a proxy, which may have passed it on
const pageRows = 500;
const pauseFirstMs = 50;
const pauseLastMs = 5_000;

export class Transport {
  readonly #root: string;
  readonly #headers: Record<string, string>;
  canWait = true; // the server waits for a run when it is asked with wait_ms

  constructor(address: Address, private readonly patienceMs: number) {
    const url = address.url ?? env("CAIRN_URL") ?? "http://127.0.0.1:8080";
    const token = address.token ?? env("CAIRN_TOKEN");
    if (!isAddress(url)) throw new CairnError(`Expected an http or https URL, but found ${JSON.stringify(url)}.`);
    this.#root = url.replace(/\/+$/, "") + "/api/v1";
    this.#headers = token ? { Authorization: `Bearer ${token}` } : {};
  }

  // The answer's JSON. A request that may have arrived goes again unless it `isOnce`.
  async ask<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
    return (await this.#answered<T>(method, path, asked)).answer;
  }

  // The rows of a list, page by page; at most `limit`.
  async *rows<Row>(path: string, { limit = Infinity, ...where }: Listed): AsyncGenerator<Row> {
    let parameters = query({ ...where, limit: Math.max(Math.min(limit, pageRows), 1) });
    for (let left = limit; left > 0; ) {
      const { answer, link } = await this.#answered<Row[]>("GET", path + parameters, {});
      yield* answer.slice(0, left);
      left -= answer.length;
      const next = /<[^>?]*(\?[^>]+)>[^<]*;\s*rel="?next"?/.exec(link)?.[1]; // the path is that of this page
      if (next === undefined || next === parameters) return;
      parameters = next;
    }
  }

  async #answered<T>(method: string, path: string, asked: Asked): Promise<Answered<T>> {
    const text = asked.text ?? (asked.body === undefined ? undefined : JSON.stringify(asked.body));
    let until: number | undefined; // since the first failure
    let breaks = 0;
    for (let pauseMs = pauseFirstMs; ; pauseMs = Math.min(pauseMs * 2, pauseLastMs)) {
      const failed = await this.#once<T>(method, path, text, asked);
      if (failed.ok) return failed;
      asked.signal?.throwIfAborted();
      if (asked.isOnce && failed.mayHaveArrived)
        throw new Unavailable(
          `Expected an answer of ${this.#root}, but: ${failed.fault} The request may have arrived.`,
        );
      if (failed.isBroken && ++breaks === asked.breaksMax)
        throw new Broken(
          `Expected to send ${text?.length ?? 0} characters to ${this.#root}, but ${breaks} connections broke off: ` +
            failed.fault,
        );
      const waitMs = Math.max(pauseMs * (0.5 + Math.random()), failed.retryMs);
      until ??= performance.now() + this.patienceMs;
      const leftMs = asked.patienceMs?.() ?? until - performance.now();
      if (leftMs < waitMs) throw new Unavailable(`Expected an answer of ${this.#root}, but: ${failed.fault}`);
      await pause(waitMs, asked.signal);
    }
  }

  // A stream of server-sent events. Throws `Refused`; whatever `fetch` throws; the signal's reason.
  async stream(path: string, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    const response = await fetch(this.#root + path, {
      headers: { ...this.#headers, Accept: "text/event-stream", ...headers },
      signal: signal ?? null,
    });
    if (response.status >= 400) throw await refusalOf(response);
    return response;
  }

  async #once<T>(method: string, path: string, text: string | undefined, asked: Asked): Promise<Once<T>> {
    const limit = limited(asked.timeoutMs ?? 30_000, asked.signal);
    try {
      const headers = text === undefined ? this.#headers : { ...this.#headers, "Content-Type": "application/json" };
      const response = await fetch(this.#root + path, { method, headers, body: text ?? null, signal: limit.signal });
      if (response.status < 400) {
        const body = await response.text();
        const answer = (body === "" ? undefined : JSON.parse(body)) as T;
        return { ok: true, answer, link: response.headers.get("Link") ?? "" };
      }
      const refusal = await refusalOf(response);
      const wasLost = lostAt.has(response.status);
      if (!wasLost && !busyAt.has(response.status)) throw refusal;
      const retryMs = retryMsOf(response);
      const isBroken = response.status === notWhole;
      return { ok: false, fault: refusal.message, retryMs, mayHaveArrived: wasLost, isBroken };
    } catch (thrown) {
      if (thrown instanceof Refused) throw thrown;
      const mayHaveArrived = !isUnsent(thrown);
      return { ok: false, fault: sentenceOf(thrown), retryMs: 0, mayHaveArrived, isBroken: mayHaveArrived };
    } finally {
      limit.end();
    }
  }
}

interface Listed {
  limit?: number;
  [more: string]: unknown;
}

interface Answered<T> {
  ok: true;
  answer: T;
  link: string; // to the next page; "": there is none
}

type Once<T> =
  | Answered<T>
  | { ok: false; fault: string; retryMs: number; mayHaveArrived: boolean; isBroken: boolean };

// There was no connection. Each runtime says so in its own words.
function isUnsent(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const words = [thrown, cause].map((one) => `${String(one)} ${(one as { code?: unknown } | undefined)?.code}`);
  return /refused|ENOTFOUND|EAI_AGAIN|dns error/i.test(words.join(" "));
}

// True where the same request may be taken later.
export function passes(thrown: unknown): boolean {
  if (!(thrown instanceof Refused)) return !(thrown instanceof CairnError);
  return busyAt.has(thrown.status) || lostAt.has(thrown.status);
}

// The pause that the answer asks for.
export function retryMsOf(response: Response): number {
  return 1000 * Number(response.headers.get("Retry-After") ?? 0) || 0;
}

export function isAddress(url: string): boolean {
  try {
    return /^https?:$/.test(new URL(url).protocol);
  } catch {
    return false;
  }
}

export function query(parameters: Record<string, unknown>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) given.append(name, String(one));
  const text = given.toString();
  return text === "" ? "" : "?" + text;
}

// Ends early, and without throwing, when the signal is aborted.
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

// An id that no other request has: Node 18 and pages without TLS have no randomUUID.
export function newId(): string {
  const { crypto } = globalThis as { crypto?: { randomUUID?: () => string } };
  if (crypto?.randomUUID) return crypto.randomUUID();
  return Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0")).join("");
}

// Whatever was thrown: an object's own methods may throw when it is shown.
export function sentenceOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return String(thrown);
    const cause = thrown.cause instanceof Error ? `: ${thrown.cause.message}` : "";
    return `${thrown.message || thrown.name}${cause}`;
  } catch {
    return `an ${typeof thrown} that cannot be shown`;
  }
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text();
  try {
    const { code, message } = JSON.parse(text).error;
    return new Refused(response.status, String(code), String(message));
  } catch {
    return new Refused(response.status, "invalid", text.slice(0, 200));
  }
}

// A signal that is aborted after a time, or with another one.
export function limited(ms: number, outer: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort(outer?.reason);
  const late = () => controller.abort(new Error(`Expected an answer within ${ms} ms.`));
  const timer = setTimeout(late, ms);
  outer?.addEventListener("abort", abort);
  if (outer?.aborted) abort();
  return {
    signal: controller.signal,
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    },
  };
}
