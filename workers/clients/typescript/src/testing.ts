// Unit tests with the real engine: `cairn test-server`, which is in memory and whose time is virtual.
//
//     const server = await TestServer.start();
//     await server.addGraph(graph);
//     const { output } = await server.execute("score", { text: "four" }, worker);
//
// A day's timer or an hour's pause before the next attempt takes a moment: while a run is waited for and nothing is
// executed, the clock goes forward to what is due next. It needs processes: Node, Bun and Deno have them.
import type { Any, Fields, RunState } from "./api.js";
import { Client } from "./client.js";
import { CairnError, Transport, Unavailable } from "./http.js";
import { env, type Started, startProgram } from "./process.js";
import type { Worker } from "./worker.js";

export interface TestServerOptions {
  program?: string; // CAIRN_PROGRAM, or `cairn` of PATH
  tools?: string; // a tools file
}

export interface CrashOptions {
  check?: (state: RunState) => void | Promise<void>; // throws where a run has not ended as it must
  timeoutMs?: number; // 60,000
}

const timeoutMs = 60_000;
const silent = { graceMs: 0, log: () => undefined }; // of a worker that is to die

// A server of its own, with an empty store.
export class TestServer {
  readonly client: Client;
  readonly #transport: Transport;
  readonly #process: Started;

  private constructor(readonly url: string, process: Started) {
    this.client = new Client({ url });
    this.#transport = new Transport({ url }, timeoutMs);
    this.#process = process;
  }

  static async start({ program = env("CAIRN_PROGRAM") ?? "cairn", tools }: TestServerOptions = {}) {
    const words = ["test-server", "--json", "--until-stdin-ends", ...(tools === undefined ? [] : ["--tools", tools])];
    const process = await startProgram(program, words);
    const line = await process.line.catch((fault: Error) => {
      throw new Unavailable(`Expected the program ${program}, but: ${fault.message}`);
    });
    if (line === "") throw new Unavailable(`Expected ${program} test-server to begin, but it ended.`);
    return new TestServer(`http://${(JSON.parse(line) as { listen: string }).listen}`, process);
  }

  close(): Promise<void> {
    return this.#process.end();
  }

  // Stores it as the current version of its name; returns the version.
  addGraph(graph: object): Promise<string> {
    return this.client.addGraph(graph);
  }

  // The clock goes forward.
  async skip(ms: number): Promise<void> {
    await this.#ask("time", { ms: Math.round(ms) });
  }

  // Workers with the functions of these ones execute steps of this server until `body` is over.
  async working<T>(workers: Worker[], body: () => Promise<T>): Promise<T> {
    const copies = workers.map((worker) => worker.copy({ url: this.url, graceMs: 1_000 }));
    return during(copies, body);
  }

  // Starts a run, lets these workers execute it, and returns the state of its end.
  execute<Output = Any>(graph: string, input: Fields = {}, ...workers: Worker[]): Promise<RunState<Output>> {
    return this.working(workers, async () =>
      (await this.client.start<Fields, Output>(graph, input)).wait({ timeoutMs }));
  }

  // Executes the run once for each of its steps of this worker, which dies after that step and before it is reported;
  // another worker goes on. Each run must end as the one without a crash did, or as `check` says. Returns how many
  // steps crashed.
  async crashEverywhere(graph: string, input: Fields, worker: Worker, options: CrashOptions = {}): Promise<number> {
    let steps = 0;
    const count = (call: () => unknown) => {
      steps += 1;
      return call();
    };
    const expected = await during([worker.copy({ url: this.url, graceMs: 1_000 }, count)], async () =>
      (await this.client.start(graph, input)).wait({ timeoutMs: options.timeoutMs ?? timeoutMs }));
    for (let crash = 1; crash <= steps; crash += 1) {
      const state = await this.#executeWithCrash(graph, input, worker, crash, options.timeoutMs ?? timeoutMs);
      if (options.check) await options.check(state);
      else if (endOf(state) !== endOf(expected))
        throw new CairnError(`Expected ${endOf(expected)} after a crash at step ${crash}, but found ${endOf(state)}.`);
    }
    return steps;
  }

  async #executeWithCrash(graph: string, input: Fields, worker: Worker, crashAt: number, ms: number) {
    let executed = 0;
    let die: () => void;
    const died = new Promise<void>((resolve) => (die = resolve));
    const never = new Promise<never>(() => undefined); // the outcome of a step that nothing reports
    const crash = async (call: () => unknown) => {
      executed += 1;
      const step = executed;
      if (step > crashAt) return never;
      try {
        const result = await call();
        if (step < crashAt) return result;
      } catch (thrown) {
        if (step < crashAt) throw thrown;
      }
      await this.#ask("crash", { session: crashing.session });
      die();
      return never;
    };
    const crashing = worker.copy({ url: this.url, ...silent, concurrency: 1 }, crash);
    const run = await this.client.start(graph, input);
    const ended = run.wait({ timeoutMs: ms });
    const isOver = ended.then(() => undefined, () => undefined);
    await during([crashing], () => Promise.race([died, isOver]));
    return this.working([worker], () => ended);
  }

  #ask(what: string, body: Fields): Promise<unknown> {
    return this.#transport.ask("POST", `/test/${what}`, { body, isOnce: true });
  }
}

const endOf = ({ status, output }: RunState) => `${status} with ${JSON.stringify(output)}`;

async function during<T>(workers: Worker[], body: () => Promise<T>): Promise<T> {
  const running = workers.map((worker) => worker.run());
  const faults = Promise.all(running).then(() => new Promise<never>(() => undefined));
  try {
    return await Promise.race([body(), faults]);
  } finally {
    for (const worker of workers) worker.stop();
    await Promise.allSettled(running);
  }
}
