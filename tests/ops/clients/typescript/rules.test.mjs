// The client and the worker at a server that loses sessions, refuses, breaks connections and says nothing.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, beforeEach, test } from "node:test";
import { Client, Worker } from "cairn-client";
import { Transport } from "./node_modules/cairn-client/dist/http.js";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition, ms = 10_000) {
  for (const end = Date.now() + ms; Date.now() < end; await pause(5)) if (condition()) return;
  assert.fail(`Expected ${condition} to become true.`);
}

function claim(id, text = "") {
  return { claim: id, run: "r", graph: "g", node: "n", step: 1, attempt: 1, key: "r/1", handler: "h", input: { text },
    deadline_ms: 60_000, tags: {} };
}

// An API whose sessions can be lost: a request that names one that is lost is answered with 404.
class Api {
  steps = []; // to be claimed
  sessions = []; // that were opened
  alive = new Set();
  claimed = []; // [session, claim]
  asked = undefined; // the last request for claims
  reported = [];
  reports = {}; // by their claims
  beats = [];
  failed = [];
  results = () => "committed";
  reportsWait = Promise.resolve();
  refuses = () => false; // which heartbeats
  answersBeats = true;
  answer = undefined; // of any other request: (request, response, body)
  bodyMax = Infinity;

  constructor() {
    this.server = createServer((request, response) => void this.#take(request, response));
  }

  async begin() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  end() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #take(request, response) {
    const { socket } = request;
    const pieces = [];
    let bytes = 0;
    request.on("data", (piece) => {
      pieces.push(piece);
      if ((bytes += piece.length) > this.bodyMax) socket.destroy();
    });
    const isWhole = await new Promise((resolve) => {
      request.on("end", () => resolve(true));
      request.on("close", () => resolve(false));
      request.on("error", () => resolve(false));
    });
    if (!isWhole) return;
    const text = Buffer.concat(pieces).toString();
    if (this.answer) return this.answer(request, response, text);
    const body = JSON.parse(text);
    const [status, said] = await this.#said(request.url, body);
    if (status) response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(said));
  }

  async #said(path, body) {
    if (path.endsWith("/claims")) return this.#claims(body);
    if (path.endsWith("/heartbeat")) {
      this.beats.push(body);
      if (this.refuses(body)) return [400, { error: { code: "invalid", message: "Expected other texts." } }];
      return this.answersBeats ? [200, { cancel: [], stale: [] }] : [0];
    }
    this.failed.push({ path, body });
    return [200, {}];
  }

  async #claims(body) {
    this.asked = body;
    const session = body.session ?? String(this.sessions.length + 1);
    if (body.session === undefined) {
      this.sessions.push(session);
      this.alive.add(session);
    }
    const finished = body.finished ?? [];
    if (finished.length > 0) await this.reportsWait;
    for (let n = 0; n < 100 && body.wait_ms > 0 && this.steps.length === 0 && this.alive.has(session); ++n)
      await pause(5);
    if (!this.alive.has(session)) return [404, { error: { code: "not_found", message: "No such session." } }];
    const claims = this.steps.splice(0, body.max);
    for (const one of claims) this.claimed.push([session, one.claim]);
    this.reported.push(...finished.map((one) => one.claim));
    for (const one of finished) this.reports[one.claim] = one;
    const results = finished.map((one) => ({ claim: one.claim, status: this.results(one), says: "It says no." }));
    return [200, { session, heartbeat_ms: 50, results, claims }];
  }
}

let api;
let contexts;
let seen;
let goOn;
let log;
let ends;

beforeEach(async () => {
  api = new Api();
  await api.begin();
  [contexts, seen, log, ends] = [{}, [], [], []];
});
afterEach(async () => {
  goOn?.();
  for (const end of ends) await end();
  api.end();
});

// A worker whose steps with a text go on when `goOn` is called.
function work(concurrency, outcome = () => ({})) {
  const worker = new Worker({ url: api.url, concurrency, graceMs: 500, log: (line) => log.push(line) });
  const free = new Promise((resolve) => (goOn = resolve));
  worker.handler("h", async (settings, context) => {
    seen.push(context.claim);
    contexts[context.claim] = context;
    if (settings.text === "waits") await free;
    return outcome(context);
  });
  const running = worker.run();
  ends.push(() => (worker.stop(), running));
}

async function atWork(count) {
  api.steps = Array.from({ length: count }, (_, n) => claim(`c${n}`, "waits"));
  work(count);
  await until(() => seen.length === count);
  return Array.from({ length: count }, (_, n) => contexts[`c${n}`]);
}

const progress = () => Object.assign({}, ...api.beats.map((beat) => beat.progress ?? {}));

test("a handler and a tool are declared with the schema of what they take", async () => {
  const worker = new Worker({ url: api.url, log: (line) => log.push(line) });
  const schema = { type: "object", required: ["text"] };
  worker.handler("h", { schema }, () => ({}));
  worker.tool("t", { schema, about: "tries" }, () => ({}));
  const running = worker.run();
  await until(() => api.asked !== undefined);
  worker.stop();
  await running;
  assert.deepEqual(api.asked.handlers, [{ schema, name: "h" }]);
  assert.deepEqual(api.asked.tools, [{ schema, about: "tries", name: "t" }]);
});

test("a session that is lost with three requests under way is replaced by one", async () => {
  api.steps = [claim("a", "waits"), claim("b", "waits")];
  work(8);
  await until(() => seen.length === 2);
  let answerReports;
  api.reportsWait = new Promise((resolve) => (answerReports = resolve));
  goOn();
  await pause(100);
  api.alive.clear();
  answerReports();
  const later = Array.from({ length: 40 }, (_, n) => `later${n}`);
  api.steps = later.map((one) => claim(one));
  await until(() => ["a", "b", ...later].every((one) => api.reported.includes(one)));
  assert.deepEqual(api.sessions, ["1", "2"]);
  assert.ok(api.claimed.every(([session, one]) => session === (one.startsWith("later") ? "2" : "1")));
  assert.deepEqual([...seen].sort(), ["a", "b", ...later].sort());
});

// What the steps of these functions report, all claimed by one request.
async function reportsOf(functions) {
  const worker = new Worker({ url: api.url, graceMs: 500, log: (line) => log.push(line) });
  const names = Object.keys(functions);
  for (const name of names) worker.handler(name, functions[name]);
  api.steps = names.map((name) => ({ ...claim(name), handler: name }));
  const running = worker.run();
  ends.push(() => (worker.stop(), running));
  await until(() => names.every((name) => name in api.reports));
  return api.reports;
}

test("a step whose function throws anything at all is reported, and the others of its request go on", async () => {
  const thrown = {
    bare: Object.create(null),
    unread: { get error() { throw new Error("no"); } },
    unshown: Object.assign(new Error("no"), { message: Symbol("no") }),
    dead: (() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })(),
    halved: new Error("bad \udcff name\0"),
    huge: new Error("x".repeat(3_000_000)),
  };
  const functions = {};
  for (const [name, one] of Object.entries(thrown)) {
    functions[name] = () => { throw one; };
    functions[`${name} later`] = async () => { throw one; };
  }
  const reports = await reportsOf({ ...functions, fine: () => ({ n: 1 }) });
  assert.deepEqual(reports.fine.patch, { n: 1 });
  for (const name of Object.keys(functions)) {
    assert.equal(reports[name].error, "error", name);
    assert.equal(reports[name].again, true, name);
  }
  assert.equal(reports.bare.message, "an object that cannot be shown");
  assert.equal(reports.halved.message, "bad \ufffd name\ufffd");
  assert.equal(reports.huge.message.length, 32 * 1024);
});

test("an outcome with a promise that is not awaited fails, and one that is a promise of another library is awaited",
  async () => {
    const reports = await reportsOf({
      forgotten: () => ({ n: Promise.resolve(1) }),
      fault: () => ({ n: new Error("no") }),
      pattern: () => ({ n: /x/ }),
      thenable: () => ({ then: (resolve) => resolve({ n: 1 }) }),
    });
    for (const name of ["forgotten", "fault", "pattern"]) {
      assert.equal(reports[name].error, "invalid", name);
      assert.match(reports[name].message, /^Expected an outcome that is JSON, but: n is /);
    }
    assert.match(reports.forgotten.message, /is an await missing\?$/);
    assert.deepEqual(reports.thenable.patch, { n: 1 });
  });

test("a progress that is no text is shown as one, and a long one by its end", async () => {
  const [one, two, three, four] = await atWork(4);
  one.progress(5);
  two.progress({ a: 1 });
  three.progress("x".repeat(100_000) + "end");
  four.progress("é".repeat(40_000) + "\ud800");
  await until(() => Object.keys(progress()).length === 4);
  const said = progress();
  assert.equal(said.c0, "5");
  assert.equal(said.c1, "[object Object]");
  assert.equal(said.c2, "x".repeat(64 * 1024 - 3) + "end");
  assert.ok(Buffer.byteLength(said.c3) <= 64 * 1024 && said.c3.startsWith("é") && said.c3.endsWith("é\ufffd"));
});

test("a heartbeat brings what has changed and no more than fits", async () => {
  (await atWork(12)).forEach((one, n) => one.progress(String(n) + "x".repeat(60_000)));
  await until(() => Object.keys(progress()).length === 12);
  assert.ok(Math.max(...api.beats.map((beat) => JSON.stringify(beat).length)) < 400_000);
  const before = api.beats.length;
  await until(() => api.beats.length > before + 3);
  assert.ok(api.beats.slice(before + 1).every((beat) => beat.progress === undefined));
});

test("texts that the API refuses keep no heartbeat back", async () => {
  api.refuses = (body) => Object.keys(body.progress ?? {}).length > 0;
  const [one] = await atWork(1);
  one.progress("bad");
  await until(() => api.beats.some(api.refuses));
  const at = api.beats.findIndex(api.refuses);
  await until(() => api.beats.length > at + 3);
  assert.ok(api.beats.slice(at + 1).every((beat) => !api.refuses(beat) && beat.claims[0] === "c0"));
  assert.deepEqual(log, ["A heartbeat failed: Expected other texts."]);
});

test("a heartbeat that is not answered is left after some seconds, and the next one says what is so then", async () => {
  const [one] = await atWork(1);
  await until(() => api.beats.length > 0);
  api.answersBeats = false;
  const before = api.beats.length;
  await until(() => api.beats.length > before);
  one.progress("news");
  await until(() => progress().c0 === "news");
});

test("a report that is not taken fails its step for good", async () => {
  api.results = (report) => (report.claim === "c1" ? "invalid" : "committed");
  api.steps = [claim("c1")];
  work(1);
  await until(() => api.failed.length > 0);
  const body = { error: "invalid", message: "It says no.", again: false };
  assert.deepEqual(api.failed[0], { path: "/api/v1/claims/c1/fail", body });
});

test("a report whose connections always break is given up, and the others are taken", async () => {
  api.bodyMax = 1 << 20;
  api.steps = [claim("large", "waits"), claim("small", "waits")];
  work(2, (context) => ({ said: context.claim === "large" ? "x".repeat(3_000_000) : "" }));
  await until(() => seen.length === 2);
  goOn();
  await until(() => api.failed.length > 0, 20_000);
  assert.equal(api.failed[0].path, "/api/v1/claims/large/fail");
  assert.match(api.failed[0].body.message, /Expected to send 3\d+ characters to http.*, but 5 connections broke off/);
  assert.equal(api.failed[0].body.again, false);
  await until(() => api.reported.includes("small"));
});

test("events go on until the last one when a stream ends before it", async () => {
  const asked = [];
  api.answer = (request, response) => {
    if (!request.url.endsWith("/events")) return response.end(JSON.stringify({ run: "r", status: "done", seq: 3 }));
    const after = Number(request.headers["last-event-id"]);
    asked.push(after);
    const events = after === 0 ? [1] : after === 1 ? [2] : [3];
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(events.map((seq) => `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "x" })}\n\n`).join(""));
  };
  const found = [];
  for await (const event of new Client({ url: api.url }).run("r").events()) found.push(event.seq);
  assert.deepEqual(found, [1, 2, 3]);
  assert.deepEqual(asked, [0, 1, 2]);
});

// An answer to each request in turn; `asked` has the requests, each with its body.
function scripted(...answers) {
  const asked = [];
  api.answer = (request, response, text) => {
    asked.push({ line: `${request.method} ${request.url}`, body: text === "" ? undefined : JSON.parse(text) });
    const { status = 200, headers = {}, body } = answers[Math.min(asked.length, answers.length) - 1];
    response.writeHead(status, headers).end(JSON.stringify(body));
  };
  return asked;
}

const wentOn = { run: "other" };
// Without a body: a GET.
const calls = [
  ["explain", (run) => run.explain(), { reasons: [] }, "/runs/r/explain"],
  ["plan", (run) => run.plan(), [{ id: "a", status: "open" }], "/runs/r/plan"],
  ["plan as of", (run) => run.plan({ at: 3 }), [], "/runs/r/plan?at=3"],
  ["diff", (run) => run.diff("o"), { same: true, first: null }, "/runs/r/diff?with=o"],
  ["diff of runs", (run, client) => run.diff(client.run("o")), { same: true, first: null }, "/runs/r/diff?with=o"],
  ["pause", (run) => run.pause(), {}, "/runs/r/pause", {}],
  ["pause with a reason", (run) => run.pause("it moves"), {}, "/runs/r/pause", { reason: "it moves" }],
  ["resume", (run) => run.resume("it is back"), {}, "/runs/r/resume", { reason: "it is back" }],
  ["cancel", (run) => run.cancel("enough", { now: true }), {}, "/runs/r/cancel", { reason: "enough", now: true }],
  ["retry", (run) => run.retry(), wentOn, "/runs/r/retry", {}],
  ["retry with a reason", (run) => run.retry("mended"), wentOn, "/runs/r/retry", { reason: "mended" }],
  ["reset to an event", (run) => run.reset(7), wentOn, "/runs/r/reset", { to: "7" }],
  ["reset to a node", (run) => run.reset("a", "wrong"), wentOn, "/runs/r/reset", { to: "a", reason: "wrong" }],
  ["fork", (run) => run.fork(2, { tags: { a: "b" } }), wentOn, "/runs/r/fork", { at: 2, tags: { a: "b" } }],
  ["answer", (run) => run.answer(1, "q", "ann"), {}, "/runs/r/answers", { value: 1, question: "q", by: "ann" }],
];

for (const [name, call, answer, path, body] of calls)
  test(`a call goes to its path with its body: ${name}`, async () => {
    const asked = scripted({ body: answer });
    const client = new Client({ url: api.url });
    const result = await call(client.run("r"), client);
    assert.deepEqual(asked, [{ line: `${body ? "POST" : "GET"} /api/v1${path}`, body }]);
    if (answer === wentOn) assert.equal(result.id, "other");
    if (!body) assert.deepEqual(result, answer);
  });

test("a command that may have arrived does not go again", async () => {
  let asked = 0;
  api.answer = (request) => (++asked, request.socket.destroy());
  const run = new Client({ url: api.url }).run("r");
  for (const call of [() => run.retry(), () => run.reset(1), () => run.pause()])
    await assert.rejects(call, { name: "Unavailable", message: /The request may have arrived/ });
  assert.equal(asked, 3);
});

test("pages follow each other until there is no next one, and a limit ends them", async () => {
  const next = '<?before=x>; rel="prev", <?reason=a,b;c&after=b>; title="a, b"; rel="next"';
  const first = { body: [{ run: "a" }, { run: "b" }], headers: { Link: next } };
  const client = new Client({ url: api.url });
  const rows = async (list) => {
    const found = [];
    for await (const row of list) found.push(row.run);
    return found;
  };
  const asked = scripted(first, { body: [{ run: "c" }] });
  assert.deepEqual(await rows(client.questions({ graph: "g", tag: ["t=1"] })), ["a", "b", "c"]);
  assert.deepEqual(asked.map((one) => one.line), ["GET /api/v1/questions?graph=g&tag=t%3D1&limit=500",
    "GET /api/v1/questions?reason=a,b;c&after=b"]);
  const again = scripted(first);
  assert.deepEqual(await rows(client.eachRun({ limit: 3 })), ["a", "b", "a"]);
  assert.deepEqual(await rows(client.eachRun({ limit: 0 })), []);
  assert.deepEqual(again.map((one) => one.line),
    ["GET /api/v1/runs?limit=3", "GET /api/v1/runs?reason=a,b;c&after=b"]);
});

test("a start and the wait for its end are one request, or go on with others", async () => {
  const [done, running] = ["done", "running"].map((status) => ({ run: "r", status, seq: 3 }));
  for (const [first, ...more] of [[done], [running, done], [{ run: "r", start: "started" }, done]]) {
    const asked = scripted(...[first, ...more].map((body) => ({ body })));
    const found = await new Client({ url: api.url }).startAndWait("g", { n: 1 }, { key: "k", tags: { a: "b" } });
    assert.deepEqual(found, done);
    const waits = more.map(() => ({ line: "GET /api/v1/runs/r?wait_ms=25000", body: undefined }));
    const body = { graph: "g", input: { n: 1 }, key: "k", tags: { a: "b" } };
    assert.deepEqual(asked, [{ line: "POST /api/v1/runs?wait_ms=25000", body }, ...waits]);
  }
});

test("a plan that is too large for one answer comes page by page", async () => {
  const large = { status: 409, body: { error: { code: "limit", message: "Expected a plan of at most 1 bytes." } } };
  const first = { body: [{ id: "a" }], headers: { Link: '<?at=7&limit=500&after=1>; rel="next"' } };
  const asked = scripted(large, first, { body: [{ id: "b" }] });
  const run = new Client({ url: api.url }).run("r");
  assert.deepEqual(await run.plan(), [{ id: "a" }, { id: "b" }]);
  assert.deepEqual(asked.map((one) => one.line), ["GET /api/v1/runs/r/plan", "GET /api/v1/runs/r/plan?limit=500",
    "GET /api/v1/runs/r/plan?at=7&limit=500&after=1"]);
});

test("a plan that is too large for a server without pages is refused for that", async () => {
  const large = { status: 409, body: { error: { code: "limit", message: "Expected a plan of at most 1 bytes." } } };
  scripted(large, { status: 400, body: { error: { code: "invalid", message: "Expected no parameter limit." } } });
  await assert.rejects(new Client({ url: api.url }).run("r").plan(), { code: "limit", message: /at most 1 bytes/ });
});

test("a start that still waits has events to come", async () => {
  const notYet = { status: 404, body: { error: { code: "not_found", message: "Expected run r to have begun." } } };
  let begun = false;
  api.answer = (request, response) => {
    if (!request.url.endsWith("/events"))
      return response.end(JSON.stringify({ run: "r", status: begun ? "done" : "waiting", seq: begun ? 1 : 0 }));
    if (!begun) response.writeHead(404).end(JSON.stringify(notYet.body));
    else response.writeHead(200, { "Content-Type": "text/event-stream" }).end('id: 1\ndata: {"seq":1,"type":"x"}\n\n');
    begun = true;
  };
  const found = [];
  for await (const event of new Client({ url: api.url }).run("r").events()) found.push(event.seq);
  assert.deepEqual(found, [1]);
  const asked = scripted(notYet);
  await assert.rejects(new Client({ url: api.url }).run("r").events().next(), { name: "Refused", status: 404 });
  assert.deepEqual(asked.map((one) => one.line), ["GET /api/v1/runs/r/events", "GET /api/v1/runs/r"]);
});

test("the patience counts from the first failure", async () => {
  let asked = 0;
  api.answer = (_, response) => {
    if (++asked > 1) response.end("{}");
  };
  assert.deepEqual(await new Transport({ url: api.url }, 500).ask("GET", "/x", { timeoutMs: 1_000 }), {});
});
