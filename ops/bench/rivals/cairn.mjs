// Cairn: one `cairn serve`, `--workers` worker processes of a `--language`, and this process, which starts the runs:
// `--starts batched` starts many in one request, `--starts single` each by a request of its own, which waits for its
// end.
import { execFileSync } from "node:child_process";
import { Client, Refused } from "cairn-client";
import { besides, callers, feeder, firstLine, freshDatabase, measure, onLines, options } from "./measure.mjs";
import { packageVersion, pause, program, script, stepsOfWorkflow } from "./measure.mjs";

const defaults = { workers: 1, at_once: 1_000, starts: "batched", language: "typescript" };
const { workers, at_once, starts, language } = options(defaults);
const isPython = language === "python";
const cairn = process.env.CAIRN_PROGRAM;
const version = execFileSync(cairn, ["--version"], { encoding: "utf8" }).trim().split(" ").at(-1);

function graph() {
  const nodes = { done: { end: "done" } };
  for (let n = 1; n <= stepsOfWorkflow; ++n) {
    const next = n < stepsOfWorkflow ? `s${n + 1}` : "done";
    nodes[`s${n}`] = { do: "bench.nothing", queue: "bench", labels: ["ok"], on: { ok: next } };
  }
  return { name: "ten", start: "s1", limits: { steps: 20 }, nodes };
}

const database = await freshDatabase();
const dsn = `dbname=${database.name}`;
execFileSync(cairn, ["migrate", "--dsn", dsn], { stdio: ["ignore", "ignore", "inherit"] });
const serve = program(cairn, ["serve", "--json", "--listen", "127.0.0.1:0", "--connections", "1200", "--dsn", dsn]);
const url = `http://${JSON.parse(await firstLine(serve)).listen}`;
const client = new Client({ url });
await client.addGraph(graph());

const concurrency = Math.ceil(at_once / workers);
let ended = 0; // runs whose last step was executed
const words = [url, String(concurrency), `s${stepsOfWorkflow}`];
const working = Array.from({ length: workers }, () => {
  const count = (more) => (ended += Number(more));
  if (!isPython) return script("cairn_worker.mjs", words).on("message", count);
  const worker = program("python3", [besides("cairn_worker.py"), ...words]);
  onLines(worker, count);
  return worker;
});

async function start(count) {
  const starts = Array.from({ length: count }, (_, n) => ({ input: { n } }));
  const refused = (await client.startMany("ten", starts)).find((run) => run instanceof Refused);
  if (refused) throw new Error(`Expected ${count} runs to start, but: ${refused.message}`);
}

async function execute(n) {
  const state = await client.startAndWait("ten", { n });
  if (state.status !== "done") throw new Error(`Expected run ${state.run} to be done, but it is ${state.status}.`);
}

const isBatched = starts === "batched";
const startsText = isBatched ? "started in batches" : "each started and waited for by one request";
const flow = isBatched ? feeder(at_once, { start, ended: () => ended }) : callers(at_once, execute);

const underWay = "select count(*) from cairn.run where status not in ('done', 'failed', 'aborted')";

// The reports of the last steps are on their way when their handlers have returned.
async function load(seconds) {
  const count = await flow(seconds);
  while ((await database.count(underWay)) > 0) await pause(5);
  return count;
}

const versionOfPython = () => execFileSync("python3", ["--version"], { encoding: "utf8" }).trim();

await measure({
  system: `Cairn, ${workers} worker process${workers > 1 ? "es" : ""}${isPython ? " in Python" : ""}`,
  version: isPython ? `${version}, ${versionOfPython()}` : `${version}, client ${packageVersion("cairn-client")}`,
  must: isPython ? 5_000 : undefined,
  settings: `${at_once} at once; ${startsText}; concurrency ${concurrency} a process`,
  load,
  steps: () => database.count("select count(*) from cairn.event where type = 8"), // step_succeeded
  parts: { server: [serve], workers: working },
});
