// Restate: its server, one process that serves the workflow, and this process, whose callers each wait for the end of
// one workflow after the other.
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callers, firstMessage, freePort, measure, options, packageVersion, pause, program, script } from "./measure.mjs";

const { at_once } = options({ at_once: 200 });
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
  RESTATE_LOG_FILTER: "error,octocrab=off",
  RESTATE_DISABLE_TELEMETRY: "true",
});
server.stdout.resume();
const service = script("restate_service.mjs", []);
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

async function execute(n) {
  const body = JSON.stringify({ n });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${ingress}/ten/w${n}/run`, { method: "POST", headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`Expected workflow ${n} to end, but: ${text}`);
}

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
  settings: `workflow of 10 ctx.run; ${at_once} clients, each waits for its workflow`,
  load: callers(at_once, execute),
  steps,
  parts: { server: [server], workers: [service] },
  usesPostgres: false,
});
