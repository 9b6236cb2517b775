// Restate: its server, one process that serves the workflow, and this process, which starts them: `--starts called`:
// callers each wait for the end of one workflow after the other. `--starts sent`: the answer to a start says that it is
// durable, and the service tells how many have ended.
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callers, feeder, firstMessage, freePort, measure, options, packageVersion } from "./measure.mjs";
import { pause, program, script } from "./measure.mjs";

const { at_once, starts, partitions } = options({ at_once: 200, starts: "called", partitions: 24 });
const folder = mkdtempSync(join(tmpdir(), "restate-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const { resolve } = createRequire(import.meta.url);
const file = resolve(`@restatedev/restate-server-linux-${process.arch}/bin/restate-server`);
const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()];
const ingress = `http://127.0.0.1:${ingressPort}`;
const admin = `http://127.0.0.1:${adminPort}`;

const server = program(file, ["--no-logo", "--base-dir", folder, "--bind-ip", "127.0.0.1", "--listen-mode", "tcp"], {
  RESTATE_BIND_PORT: String(nodePort),
  RESTATE_INGRESS__BIND_PORT: String(ingressPort),
  RESTATE_ADMIN__BIND_PORT: String(adminPort),
  RESTATE_DEFAULT_NUM_PARTITIONS: String(partitions),
  RESTATE_LOG_FILTER: "error,octocrab=off",
  RESTATE_DISABLE_TELEMETRY: "true",
});
server.stdout.resume();
const service = script("restate_service.mjs");
const { port } = await firstMessage(service);

async function register() {
  const body = JSON.stringify({ uri: `http://127.0.0.1:${port}` });
  const headers = { "Content-Type": "application/json" };
  return (await fetch(`${admin}/deployments`, { method: "POST", headers, body })).ok;
}

for (let tries = 0; !(await register().catch(() => false)); ++tries) {
  if (tries > 300) throw new Error("Expected the server of Restate to take the service within 30 s.");
  await pause(100);
}

let ended = 0; // workflows whose last step was executed
service.on("message", (more) => (ended += more)); // after the port

async function execute(n, way = "run") {
  const body = JSON.stringify({ n });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${ingress}/ten/w${n}/${way}`, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`Expected workflow ${n} to be taken, but: ${text}`);
}

let last = 0;
const send = (count) => Promise.all(Array.from({ length: count }, () => execute(++last, "run/send")));
const isCalled = starts === "called";
const startsText = `each started${isCalled ? " and waited for" : ""} by one request`;
const flow = isCalled ? callers(at_once, execute) : feeder(at_once, { start: send, ended: () => ended });

// Its journal, which it keeps for a day.
async function steps() {
  const query = "select count(*) as count from sys_journal where entry_type = 'Command: Run'";
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const response = await fetch(`${admin}/query`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`Expected a count of steps, but: ${text}`);
  return Number(JSON.parse(text).rows[0].count);
}

await measure({
  system: "Restate",
  version: `server ${packageVersion("@restatedev/restate-server")}, SDK ${packageVersion("@restatedev/restate-sdk")}`,
  settings: `${at_once} at once; ${startsText}; ${partitions} partitions`,
  load: flow,
  steps,
  parts: { server: [server], workers: [service] },
});
