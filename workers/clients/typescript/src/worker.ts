// A worker: functions that execute steps. One request waits for steps while there are free slots; up to two others
// report what has ended and take as many steps with it; one more brings heartbeats. A step may run more than once (at
// least once delivery); `Context.key` is the same each time. A report counts once, and is sent again until it is
// answered.
import type { Claim, ClaimsAnswer, DeclaredHandler, DeclaredTool, Fields } from "./api.js";
import type { HeartbeatAnswer, HeartbeatBody } from "./api.js";
import { isPromise } from "./failures.js";
import { type Address, aborted, pause, Refused, sentenceOf, Transport, Unavailable } from "./http.js";
import { hostName, onSignals, turn } from "./process.js";
import { bugOf, type Context, failureOf, type Label, outcomeOf, reportText, Step, timeout } from "./step.js";

// The `with` of a node, or the inputs of a sub-goal. A type of your own may take its place.
export type HandlerFunction<Settings = Fields> = (settings: Settings, context: Context) => Patch | Promise<Patch>;
export type ToolFunction<Inputs = Fields> = (inputs: Inputs, context: Context) => Outputs | Promise<Outputs>;
export type Patch = object | Label | undefined | null | void; // channels to change
export type Outputs = object | undefined | null | void;

export type HandlerOptions = Omit<DeclaredHandler, "name">;
export type ToolOptions = Omit<DeclaredTool, "name">;

export interface WorkerOptions extends Address {
  name?: string;
  queues?: string[]; // ["default"]
  concurrency?: number; // steps at once; 16
  graceMs?: number; // for what runs when it stops; 30,000
  log?: (line: string) => void; // console.error
}

interface Registered<Declared> {
  declared: Declared;
  call: (input: never, context: Context) => unknown;
}

interface Ended {
  step: Step;
  text: string;
}

const waitMs = 20_000;
const claimsMax = 1_000;
const reportsMax = 500;
const reportBytesMax = 400_000; // of one request: `serve` takes a body of 1 MiB unless it is configured otherwise
const reportersMax = 2;
const lastReportsMs = 2_000;
const timerMaxMs = 2 ** 31 - 1;
const doesNotCount = new Set(["stale", "closed", "conflict"]);
const bodyBytes = 1 << 20; // that `serve` takes, unless it is configured otherwise
const breaksMax = 5; // of a larger body: after a refusal that did not arrive, each try would end like this
const beatMsMin = 3_000; // for the answer to a heartbeat; otherwise as long as the pause between two
const beatAgainMs = 1_000; // after one that was not answered
const progressBytesMax = 256 * 1024; // of a heartbeat

// Executes steps of `queues`, at most `concurrency` at once, until stop() or SIGTERM.
export class Worker {
  readonly #transport: Transport;
  readonly #options: WorkerOptions;
  readonly #batchMax: number;
  readonly #log: (line: string) => void;
  readonly #handlers = new Map<string, Registered<DeclaredHandler>>();
  readonly #tools = new Map<string, Registered<DeclaredTool>>();
  readonly #stop = new AbortController();
  readonly #closed = new AbortController();
  readonly #held = new Map<string, Step>(); // until their reports are answered
  #head = ""; // of the body of each request: who asks, and what it has
  #free: number;
  #ended: Ended[] = [];
  #reporters = 0;
  #session: string | undefined;
  #opening: Promise<string> | undefined;
  #isBeatLost = false; // the last one
  #heartbeatMs = 5_000;
  #onFree: (() => void) | undefined;
  #onDrained: (() => void) | undefined;

  constructor(options: WorkerOptions = {}) {
    const { concurrency = 16 } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new RangeError(`Expected a concurrency of 1 or more, but found ${concurrency}.`);
    this.#transport = new Transport(options, Infinity);
    this.#options = options;
    this.#free = concurrency;
    this.#batchMax = Math.min(Math.max(Math.ceil(concurrency / reportersMax), 1), reportsMax);
    this.#log = options.log ?? ((line) => console.error(line));
  }

  // --- what it has ---

  // The function gets the node's settings and a context; it returns channels to change, or a label().
  handler<Settings = Fields>(name: string, call: HandlerFunction<Settings>): void;
  handler<Settings = Fields>(name: string, options: HandlerOptions, call: HandlerFunction<Settings>): void;
  handler<Settings>(
    name: string,
    options: HandlerOptions | HandlerFunction<Settings>,
    call?: HandlerFunction<Settings>,
  ): void {
    if (typeof options === "function") [options, call] = [{}, options];
    if (!call) throw new TypeError(`Expected a function for handler ${name}, but found none.`);
    this.#handlers.set(name, { declared: { ...options, name }, call });
  }

  // The function gets a sub-goal's inputs and a context; it returns outputs.
  tool<Inputs = Fields>(name: string, call: ToolFunction<Inputs>): void;
  tool<Inputs = Fields>(name: string, options: ToolOptions, call: ToolFunction<Inputs>): void;
  tool<Inputs>(name: string, options: ToolOptions | ToolFunction<Inputs>, call?: ToolFunction<Inputs>): void {
    if (typeof options === "function") [options, call] = [{}, options];
    if (!call) throw new TypeError(`Expected a function for tool ${name}, but found none.`);
    this.#tools.set(name, { declared: { ...options, name }, call });
  }

  // The same functions at another server; `around` makes each call. For tests.
  copy(options: WorkerOptions, around: (call: () => unknown) => unknown = (call) => call()): Worker {
    const copied = new Worker({ ...this.#options, ...options });
    const wrap = <T>({ declared, call }: Registered<T>): Registered<T> =>
      ({ declared, call: (input, context) => around(() => call(input, context)) });
    for (const [name, handler] of this.#handlers) copied.#handlers.set(name, wrap(handler));
    for (const [name, tool] of this.#tools) copied.#tools.set(name, wrap(tool));
    return copied;
  }

  // Its session at the server, once it has one.
  get session(): string | undefined {
    return this.#session;
  }

  // --- running ---

  // Resolves once it has stopped. SIGTERM and SIGINT stop it; a second one ends the process.
  async run(): Promise<void> {
    if (this.#head !== "") throw new Error("Expected a worker to run once, but it runs or has run.");
    this.#head = await this.#makeHead();
    const endSignals = onSignals(["SIGTERM", "SIGINT"], () => this.stop());
    try {
      const beats = this.#beat();
      await Promise.race([this.#claim(), aborted(this.#stop.signal)]);
      await this.#drain();
      this.#closed.abort();
      await beats;
      await this.#close();
    } finally {
      endSignals();
    }
  }

  // Takes no more steps; what runs has `graceMs` to end, then it is given back.
  stop(): void {
    this.#stop.abort();
    this.#onFree?.();
  }

  async #makeHead(): Promise<string> {
    const head = JSON.stringify({
      worker: this.#options.name ?? `typescript@${await hostName()}`,
      queues: this.#options.queues ?? ["default"],
      handlers: [...this.#handlers.values()].map((one) => one.declared),
      tools: [...this.#tools.values()].map((one) => one.declared),
    });
    return head.slice(0, -1);
  }

  get #isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  async #claim(): Promise<void> {
    while (!this.#isStopping) {
      if (this.#free === 0) await new Promise<void>((resolve) => (this.#onFree = resolve));
      const asked = Math.min(this.#free, claimsMax);
      if (this.#isStopping || asked === 0) continue;
      this.#free -= asked;
      await this.#ask([], asked);
    }
  }

  #report(step: Step, text: string): void {
    this.#ended.push({ step, text });
    if (this.#reporters < reportersMax) void this.#reportAll();
  }

  async #reportAll(): Promise<void> {
    ++this.#reporters;
    await turn(); // what ends at the same time goes with it
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      await this.#ask(batch, this.#isStopping ? 0 : batch.length);
      await turn();
    }
    --this.#reporters;
  }

  #nextBatch(): Ended[] {
    let bytes = 0;
    let count = 0;
    while (count < Math.min(this.#ended.length, this.#batchMax) && bytes < reportBytesMax)
      bytes += this.#ended[count++]!.text.length;
    return this.#ended.splice(0, count);
  }

  // One request; slots that it brings no step for are free again.
  async #ask(reports: Ended[], asked: number): Promise<void> {
    let taken = 0;
    try {
      const answer = await this.#claims(reports, asked);
      for (const result of answer.results) await this.#judge(result);
      for (const ended of reports) this.#held.delete(ended.step.claim);
      for (const claim of answer.claims) this.#begin(claim);
      taken = answer.claims.length;
    } catch (thrown) {
      await this.#refused(reports, thrown);
      for (const ended of reports) this.#held.delete(ended.step.claim);
    }
    this.#free += Math.max(asked, reports.length) - taken;
    if (this.#free > 0) this.#onFree?.();
    if (this.#held.size === 0) this.#onDrained?.();
  }

  async #judge(result: ClaimsAnswer["results"][number]): Promise<void> {
    if (result.status === "invalid") return this.#giveUp(result.claim, result.says ?? result.status);
    const isExpected = this.#held.get(result.claim)?.cancelled ?? false;
    if (doesNotCount.has(result.status) && !isExpected)
      this.#log(`A report of ${result.claim} does not count: ${result.says ?? result.status}`);
  }

  // --- requests ---

  async #claims(reports: Ended[], asked: number): Promise<ClaimsAnswer> {
    const waits = reports.length === 0;
    const finished = reports.map((one) => one.text).join(",");
    const rest = `,"max":${asked},"wait_ms":${waits ? waitMs : 0},"finished":[${finished}]}`;
    const signal = waits ? this.#stop.signal : this.#closed.signal;
    for (let again = false; ; again = true) {
      const session = await this.#openedSession();
      const text = `${this.#head},"session":"${session}"${rest}`;
      try {
        const limits = isLarge(text) ? { breaksMax } : {};
        const asked = { text, timeoutMs: waitMs + 30_000, signal, ...limits };
        const answer = await this.#transport.ask<ClaimsAnswer>("POST", "/claims", asked);
        if (this.#session === session) this.#session = answer.session; // an older server opens another one unasked
        return answer;
      } catch (thrown) {
        if (again || !this.#isGone(thrown, session)) throw thrown;
      }
    }
  }

  // The session is unknown to the server: what it held is lost, and a new one begins.
  #isGone(thrown: unknown, session: string): boolean {
    const isGone = thrown instanceof Refused && thrown.status === 404;
    if (isGone && this.#session === session) this.#session = undefined;
    return isGone;
  }

  // One request opens the session: two at once would open two.
  async #openedSession(): Promise<string> {
    if (this.#session !== undefined) return this.#session;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(): Promise<string> {
    const signal = this.#held.size > 0 ? this.#closed.signal : this.#stop.signal; // reports need it when it stops, too
    const text = `${this.#head},"max":0,"wait_ms":0}`;
    const answer = await this.#transport.ask<ClaimsAnswer>("POST", "/claims", { text, signal });
    this.#session = answer.session;
    this.#heartbeatMs = answer.heartbeat_ms;
    return answer.session;
  }

  // One report that the API does not take must not keep the others from being taken.
  async #refused(reports: Ended[], thrown: unknown): Promise<void> {
    if (reports.length === 1) return this.#giveUp(reports[0]!.step.claim, sentenceOf(thrown));
    for (const one of reports) {
      try {
        for (const result of (await this.#claims([one], 0)).results) await this.#judge(result);
      } catch (alone) {
        await this.#giveUp(one.step.claim, sentenceOf(alone));
      }
    }
    if (reports.length > 0 || this.#isStopping) return;
    const queues = (this.#options.queues ?? ["default"]).join(", ");
    this.#log(`Expected steps of ${queues}, but: ${sentenceOf(thrown)}`);
    await pause(1_000, this.#stop.signal);
  }

  async #giveUp(claim: string, message: string): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#log(`Expected the API to take the report of ${claim}, but: ${message}`);
    try {
      const body = { error: "invalid", message: message.slice(0, 1_000), again: false };
      await this.#transport.ask("POST", `/claims/${claim}/fail`, { body, signal: this.#closed.signal });
    } catch (late) {
      this.#log(`It is left to the deadline of the step: ${sentenceOf(late)}`);
    }
  }

  // --- steps ---

  #begin(claim: Claim): void {
    const step = new Step(claim);
    this.#held.set(claim.claim, step);
    const found = step.isTool ? this.#tools.get(claim.tool!) : this.#handlers.get(claim.handler ?? "");
    if (!found || this.#isStopping) return this.#end(step, { release: true, retry_ms: this.#isStopping ? 0 : 1_000 });
    try {
      const result = found.call(claim.input as never, step);
      if (isPromise(result)) void this.#follow(step, result);
      else this.#end(step, outcomeOf(result, step.isTool));
    } catch (thrown) {
      this.#fail(step, thrown);
    }
  }

  async #follow(step: Step, result: PromiseLike<unknown>): Promise<void> {
    const late = () => {
      step.abort();
      this.#end(step, timeout);
    };
    step.timer = setTimeout(late, Math.min(step.leftMs, timerMaxMs));
    try {
      this.#end(step, outcomeOf(await result, step.isTool));
    } catch (thrown) {
      this.#fail(step, thrown);
    }
  }

  #fail(step: Step, thrown: unknown): void {
    const bug = step.cancelled ? "" : bugOf(thrown);
    if (bug !== "") this.#log(`A step failed: ${bug}`);
    this.#end(step, failureOf(thrown));
  }

  #end(step: Step, said: Parameters<typeof reportText>[1]): void {
    if (step.isEnded) return;
    step.isEnded = true;
    clearTimeout(step.timer); // it would keep a process alive whose function hangs
    this.#report(step, reportText(step, said));
  }

  // --- heartbeats ---

  async #beat(): Promise<void> {
    const { signal } = this.#closed;
    for (let pauseMs = this.#heartbeatMs; ; ) {
      await pause(pauseMs, signal);
      if (signal.aborted) return;
      const isHeard = this.#session !== undefined && (await this.#isHeard(this.#session));
      pauseMs = isHeard ? this.#heartbeatMs : Math.min(beatAgainMs, this.#heartbeatMs);
    }
  }

  async #isHeard(session: string): Promise<boolean> {
    const news = this.#news();
    try {
      const answer = await this.#heartbeat(session, news);
      for (const [step, text] of news) [step.heard, step.heardAt] = [text, performance.now()];
      for (const claim of [...answer.cancel, ...answer.stale]) this.#held.get(claim)?.abort();
      this.#isBeatLost = false;
      return true;
    } catch (thrown) {
      this.#isGone(thrown, session);
      const isSaid = this.#isBeatLost && thrown instanceof Unavailable; // one line for a server that is away
      if (!isSaid && !this.#closed.signal.aborted) this.#log(`A heartbeat failed: ${sentenceOf(thrown)}`);
      this.#isBeatLost = true;
      return false;
    }
  }

  // Goes once, as another one with what is so then goes soon. A step whose report is on its way is named too: one that
  // is not named counts as lost. Texts that are refused keep no heartbeat back.
  async #heartbeat(session: string, news: Map<Step, string>): Promise<HeartbeatAnswer> {
    const progress = Object.fromEntries([...news].map(([step, text]) => [step.claim, text]));
    const body: HeartbeatBody = { session, claims: [...this.#held.keys()], ...(news.size > 0 ? { progress } : {}) };
    const timeoutMs = Math.max(this.#heartbeatMs, beatMsMin);
    const { signal } = this.#closed;
    try {
      return await this.#transport.ask("POST", "/claims/heartbeat", { body, signal, timeoutMs, patienceMs: () => 0 });
    } catch (thrown) {
      const isOfTexts = thrown instanceof Refused && (thrown.status === 400 || thrown.status === 413);
      if (!isOfTexts || news.size === 0) throw thrown;
      this.#log(`A heartbeat failed: ${sentenceOf(thrown)}`);
      return this.#heartbeat(session, new Map());
    }
  }

  // The texts that the API has not heard, as many as one heartbeat takes; those that had to wait go first.
  #news(): Map<Step, string> {
    const news = new Map<Step, string>();
    const changed = [...this.#held.values()].filter((step) => step.said !== undefined && step.said !== step.heard);
    let bytes = 0;
    for (const step of changed.sort((one, other) => one.heardAt - other.heardAt)) {
      bytes += bytesOf(JSON.stringify(step.said));
      if (news.size > 0 && bytes > progressBytesMax) break;
      news.set(step, step.said!);
    }
    return news;
  }

  // --- the end ---

  async #drain(): Promise<void> {
    const drained = new AbortController();
    this.#onDrained = () => drained.abort();
    if (this.#held.size === 0) return;
    await pause(this.#options.graceMs ?? 30_000, drained.signal);
    for (const step of this.#held.values()) {
      if (step.isEnded) continue;
      step.abort();
      this.#end(step, { release: true });
    }
    if (this.#held.size > 0) await pause(lastReportsMs, drained.signal);
  }

  async #close(): Promise<void> {
    if (this.#session === undefined) return;
    const text = `${this.#head},"session":"${this.#session}","max":0,"close":true}`;
    try {
      await this.#transport.ask("POST", "/claims", { text, timeoutMs: lastReportsMs, patienceMs: () => 0 });
    } catch (fault) {
      this.#log(`Expected to close the session, but: ${sentenceOf(fault)}`);
    }
  }
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function isLarge(text: string): boolean {
  return text.length > bodyBytes / 3 && bytesOf(text) > bodyBytes; // no character takes more than three for its length
}
