// Starts runs, follows them, answers their questions.
import type { Any, Difference, Explanation, Fields, ForkBody, Goal, OpenQuestion, RunEvent } from "./api.js";
import type { RunRow, RunState, StartBody, StartedMany } from "./api.js";
import { framesOf } from "./events.js";
import { type Address, newId, passes, pause, query, Refused, sentenceOf, Transport, Unavailable } from "./http.js";

const ended = new Set(["done", "failed", "aborted"]);
const patienceMs = 30_000; // for a server that is away or busy
const resumeMs = 500;
const waitMs = 25_000; // of one request
const statusOf: Record<string, number> = { not_found: 404, conflict: 409, limit: 409, closed: 409 }; // of one of many

const waitsMs = (leftMs: number) => Math.max(Math.min(Math.trunc(leftMs), waitMs), 1);

export interface StartOptions {
  key?: string; // with a key, the same input again is the same run
  tags?: Record<string, string>;
}

// One of several starts; its tags come to those of all.
export interface ManyStart<Input = Fields> extends StartOptions {
  input: Input;
}

export interface WaitOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface EventOptions {
  after?: number; // the event after which it begins
  signal?: AbortSignal;
}

export interface CancelOptions {
  now?: boolean; // without the graph's cleanup
}

export type ForkChanges = Omit<ForkBody, "at">;

export interface RunFilter {
  graph?: string;
  status?: string;
  tag?: string | string[]; // KEY=VALUE
  limit?: number;
  after?: string;
  [more: string]: string | number | string[] | undefined;
}

// One run, by its id. Each call asks the server.
export class Run<Output = Any> {
  readonly #transport: Transport;

  constructor(transport: Transport, readonly id: string) {
    this.#transport = transport;
  }

  // The folded state: now, or as of an event or a time.
  state({ at }: { at?: number | string } = {}): Promise<RunState<Output>> {
    return this.#ask("GET", query({ at }));
  }

  explain(): Promise<Explanation> {
    return this.#ask("GET", "/explain");
  }

  // The sub-goals of its plan: now, or as of an event or a time. Those that are too large for one answer come page by
  // page, all as of one moment. A server that has no pages refuses the first as invalid: the cause is then the refusal
  // of the whole.
  async plan({ at }: { at?: number | string } = {}): Promise<Goal[]> {
    let tooLarge: Refused;
    try {
      return await this.#ask<Goal[]>("GET", "/plan" + query({ at }));
    } catch (thrown) {
      if (!(thrown instanceof Refused && thrown.code === "limit")) throw thrown;
      tooLarge = thrown;
    }
    const goals: Goal[] = [];
    try {
      for await (const goal of this.#transport.rows<Goal>(`${this.#path}/plan`, { at })) goals.push(goal);
    } catch (thrown) {
      const isFirst = goals.length === 0;
      throw isFirst && thrown instanceof Refused && thrown.code === "invalid" ? tooLarge : thrown;
    }
    return goals;
  }

  // This run and another one, compared from the first event that differs.
  diff(other: Run | string): Promise<Difference> {
    return this.#ask("GET", "/diff" + query({ with: typeof other === "string" ? other : other.id }));
  }

  // The events as they come, until the run has ended; goes on where it was when the connection breaks.
  async *events({ after = 0, signal }: EventOptions = {}): AsyncGenerator<RunEvent> {
    for (let until: number | undefined; ; await pause(resumeMs, signal)) {
      signal?.throwIfAborted();
      try {
        const headers = { "Last-Event-ID": String(after) };
        const response = await this.#transport.stream(`${this.#path}/events`, headers, signal);
        if (response.body) {
          for await (const frame of framesOf(response.body)) {
            if (frame.event !== "message") continue;
            const event = JSON.parse(frame.data) as RunEvent;
            after = event.seq;
            until = undefined;
            yield event;
          }
        }
        const state = await this.state();
        if (ended.has(state.status) && state.seq <= after) return;
        until = undefined;
      } catch (thrown) {
        signal?.throwIfAborted();
        if (after === 0 && thrown instanceof Refused && thrown.status === 404) {
          await this.state(); // refused, unless its start still waits
          continue;
        }
        if (!passes(thrown)) throw thrown;
        until ??= performance.now() + patienceMs;
        if (performance.now() > until)
          throw new Unavailable(`Expected the events of run ${this.id}, but: ${sentenceOf(thrown)}`);
      }
    }
  }

  // The state once the run has ended. A server that cannot wait for it is asked again and again.
  async wait({ timeoutMs = Infinity, signal }: WaitOptions = {}): Promise<RunState<Output>> {
    const until = performance.now() + timeoutMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, 1_000)) {
      const state = await this.#stateWithin(until - performance.now(), signal);
      if (ended.has(state.status)) return state;
      if (performance.now() >= until)
        throw new Unavailable(`Expected run ${this.id} to end within ${timeoutMs} ms, but it is ${state.status}.`);
      if (!this.#transport.canWait) await pause(pauseMs, signal);
      signal?.throwIfAborted();
    }
  }

  async #stateWithin(leftMs: number, signal: AbortSignal | undefined): Promise<RunState<Output>> {
    if (!this.#transport.canWait) return this.state();
    const waits = waitsMs(leftMs);
    const asked = { timeoutMs: waits + 30_000, signal };
    try {
      return await this.#transport.ask("GET", this.#path + query({ wait_ms: waits }), asked);
    } catch (thrown) {
      if (!(thrown instanceof Refused && thrown.status === 400 && thrown.message.includes("wait_ms"))) throw thrown;
      this.#transport.canWait = false;
      return this.state();
    }
  }

  // Without a question's id: the only one that is open. `by` is the person who says so.
  async answer(value: Any, question?: string, by?: string): Promise<void> {
    await this.#ask("POST", "/answers", { value, question, by });
  }

  async signal(name: string, value: Any = null, id?: string): Promise<void> {
    const body = { name, value, id: id ?? newId() };
    try {
      await this.#transport.ask("POST", `${this.#path}/signals`, { body });
    } catch (thrown) {
      // Else the run has it: this request went twice, or the id was given twice.
      if (!(thrown instanceof Refused && thrown.code === "conflict")) throw thrown;
    }
  }

  // Ends it as aborted, after the graph's cleanup unless `now`.
  async cancel(reason?: string, { now }: CancelOptions = {}): Promise<void> {
    await this.#ask("POST", "/cancel", { reason, now });
  }

  // No more steps are begun until it is resumed.
  async pause(reason?: string): Promise<void> {
    await this.#ask("POST", "/pause", { reason });
  }

  async resume(reason?: string): Promise<void> {
    await this.#ask("POST", "/resume", { reason });
  }

  // Goes on after a failure: the run that does is this one, or a fork of it.
  retry(reason?: string): Promise<Run<Output>> {
    return this.#goOn("/retry", { reason });
  }

  // A new run from before a node or an event; this one is cancelled if it has not ended.
  reset(to: number | string, reason?: string): Promise<Run<Output>> {
    return this.#goOn("/reset", { to: String(to), reason });
  }

  // A new run from where this one stood after event `at`, with channels set or questions answered otherwise.
  fork(at: number, changes: ForkChanges = {}): Promise<Run<Output>> {
    return this.#goOn("/fork", { at, ...changes });
  }

  async #goOn(part: string, body: object): Promise<Run<Output>> {
    return new Run(this.#transport, (await this.#ask<{ run: string }>("POST", part, body)).run);
  }

  get #path(): string {
    return `/runs/${encodeURIComponent(this.id)}`;
  }

  #ask<T>(method: "GET" | "POST", part: string, body?: unknown): Promise<T> {
    return this.#transport.ask(method, this.#path + part, { body, isOnce: method === "POST" });
  }
}

// Asks `url` (CAIRN_URL, http://127.0.0.1:8080) with `token` (CAIRN_TOKEN).
export class Client {
  readonly #transport: Transport;

  constructor(address: Address = {}) {
    this.#transport = new Transport(address, patienceMs);
  }

  async start<Input = Fields, Output = Any>(
    graph: string,
    input: Input,
    options: StartOptions = {},
  ): Promise<Run<Output>> {
    // A start has always a key, as its request may have to go twice.
    const body: StartBody = { graph, input, ...options, key: options.key ?? newId() };
    const started = await this.#transport.ask<{ run: string }>("POST", "/runs", { body });
    return new Run(this.#transport, started.run);
  }

  // As start() and wait(), by one request if the run ends soon.
  async startAndWait<Input = Fields, Output = Any>(
    graph: string,
    input: Input,
    { key = newId(), tags, timeoutMs = Infinity, signal }: StartOptions & WaitOptions = {},
  ): Promise<RunState<Output>> {
    const until = performance.now() + timeoutMs;
    const waits = this.#transport.canWait ? waitsMs(timeoutMs) : undefined;
    const body: StartBody = { graph, input, key, ...(tags && { tags }) };
    const asked = { body, timeoutMs: (waits ?? 0) + 30_000, signal };
    const path = "/runs" + query({ wait_ms: waits });
    const begun = await this.#transport.ask<RunState<Output>>("POST", path, asked);
    if (ended.has(begun.status)) return begun;
    const rest = { timeoutMs: Math.max(until - performance.now(), 0), ...(signal && { signal }) };
    return new Run<Output>(this.#transport, begun.run).wait(rest);
  }

  // Starts up to 1,000 runs in one request. In the order of `runs`: each one, or the refusal in its place, which is not
  // thrown.
  async startMany<Input = Fields, Output = Any>(
    graph: string,
    runs: ManyStart<Input>[],
    options: Pick<StartOptions, "tags"> = {},
  ): Promise<(Run<Output> | Refused)[]> {
    const keyed = runs.map((run) => ({ ...run, key: run.key ?? newId() }));
    const body = { graph, runs: keyed, ...options };
    const { runs: began } = await this.#transport.ask<StartedMany>("POST", "/runs", { body });
    return began.map(({ run, error }) =>
      error ? new Refused(statusOf[error.code] ?? 400, error.code, error.message) : new Run(this.#transport, run!),
    );
  }

  run<Output = Any>(id: string): Run<Output> {
    return new Run(this.#transport, id);
  }

  // One page, newest first: 100 unless `limit` says otherwise.
  runs(where: RunFilter = {}): Promise<RunRow[]> {
    return this.#transport.ask("GET", "/runs" + query(where));
  }

  // All runs that match, newest first, page by page; at most `limit`.
  eachRun(where: RunFilter = {}): AsyncGenerator<RunRow> {
    return this.#transport.rows("/runs", where);
  }

  // The open questions of runs that match, oldest first, page by page; at most `limit`.
  questions(where: RunFilter = {}): AsyncGenerator<OpenQuestion> {
    return this.#transport.rows("/questions", where);
  }

  // Stores it as the current version of its name; returns the version.
  async addGraph(graph: object): Promise<string> {
    return (await this.#transport.ask<{ version: string }>("POST", "/graphs", { body: graph })).version;
  }

  // The current version of a graph, as it was added.
  graph(name: string): Promise<Fields> {
    return this.#transport.ask("GET", `/graphs/${encodeURIComponent(name)}`);
  }
}
