// A world of its own for a test file: an embedded database in a temporary folder, the API with the console, a worker.
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const program = process.env.CAIRN_PROGRAM ?? join(import.meta.dirname, "../../../build/release/cairn");

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function until(condition, what, ms = Number(process.env.CAIRN_PATIENCE_MS ?? 30_000)) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`Expected ${what} within ${ms} ms, but it was not so.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class World {
  // `replies`: of the model that the worker has, in order.
  static async begin({ withWorker = true, replies } = {}) {
    const world = new World();
    world.folder = mkdtempSync(join(tmpdir(), "cairn-console-"));
    chmodSync(world.folder, 0o755); // the database's user is another one where the tests are run by root
    const { CAIRN_DSN: _, CAIRN_TOKEN: __, ...rest } = process.env;
    world.env = { ...rest, CAIRN_DATA: join(world.folder, "data"), HOME: world.folder };
    world.port = await freePort();
    world.url = `http://127.0.0.1:${world.port}/`;
    await world.serve();
    if (replies !== undefined) {
      world.env.CAIRN_MODEL_SCRIPT = join(world.folder, "replies.json");
      writeFileSync(world.env.CAIRN_MODEL_SCRIPT, JSON.stringify({ replies }));
    }
    if (withWorker) world.worker = world.start(["work"]);
    return world;
  }

  start(args) {
    const log = openSync(join(this.folder, `${args[0]}.log`), "a");
    const child = spawn(program, args, { env: this.env, stdio: ["ignore", log, log] });
    child.over = new Promise((resolve) => child.once("exit", resolve));
    return child;
  }

  async serve() {
    this.server = this.start(["serve", "--listen", `127.0.0.1:${this.port}`]);
    await until(() => fetch(`${this.url}readyz`).then((answer) => answer.ok, () => false), "a server that is ready");
  }

  async stopServer() {
    this.server.kill("SIGKILL");
    await this.server.over;
  }

  // What the command prints; refuses as it does.
  async cairn(...args) {
    const { stdout } = await promisify(execFile)(program, args, { env: this.env, maxBuffer: 64 << 20 });
    return stdout;
  }

  // What a line of bash prints, in which `cairn` is the program; refuses as it does.
  async shell(line) {
    const env = { ...this.env, CAIRN_PROGRAM: program };
    const whole = `cairn() { "$CAIRN_PROGRAM" "$@"; }; ${line}`;
    const { stdout } = await promisify(execFile)("/bin/bash", ["-c", whole], { env, maxBuffer: 64 << 20 });
    return stdout;
  }

  async addGraph(graph) {
    const file = join(this.folder, `${graph.name}.json`);
    writeFileSync(file, JSON.stringify(graph));
    await this.cairn("graph", "add", file);
  }

  async startRun(graph, input = {}, ...more) {
    const printed = await this.cairn("start", graph, "--input", JSON.stringify(input), "--json", ...more);
    return JSON.parse(printed).run;
  }

  // A statement of the database's owner, who may change what others may not.
  async asOwner(statement) {
    const dsn = (await this.cairn("doctor").catch((fault) => fault.stdout)).split("\n")[0];
    const env = { ...this.env, PGPASSFILE: join(this.env.CAIRN_DATA, "owner.pass") };
    await promisify(execFile)("psql", ["-q", `${dsn} user=postgres`, "-c", statement], { env });
  }

  // A token with these roles, from when on the server asks for one.
  async addToken(name, ...roles) {
    return this.addScopedToken(name, [], ...roles);
  }

  async addScopedToken(name, scopes, ...roles) {
    const printed = await this.cairn("token", "add", name, ...roles.flatMap((role) => ["--role", role]),
      ...scopes.flatMap((scope) => ["--scope", scope]));
    await until(() => fetch(`${this.url}api/v1/`).then((answer) => answer.status === 401), "a server that asks");
    return printed.split("\n")[0];
  }

  async api(path, body) {
    const init = body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    };
    const answer = await fetch(`${this.url}api/v1/${path}`, init);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  async isStatus(run, status) {
    return until(async () => (await this.api(`runs/${run}`)).status === status, `the run to be ${status}`);
  }

  async end() {
    for (const child of [this.worker, this.server]) {
      if (child === undefined) continue;
      child.kill("SIGTERM");
      await child.over;
    }
    await this.cairn("down");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
