// One call of a model by a step: what is sent, what is recorded, and which failures are tried again.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, test } from "node:test";
import { Again, Final } from "cairn-client";
import { failureOf, Step } from "./node_modules/cairn-client/dist/step.js";

const chat = {
  id: "c1", model: "m-1", choices: [{ message: { role: "assistant", content: "four" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
};
const response = {
  id: "r1", model: "m-1", output: [{ type: "message", content: [{ type: "output_text", text: "four" }] }],
  usage: { input_tokens: 10, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } },
};
const ends = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function set(settings) {
  for (const [name, value] of Object.entries(settings)) {
    const before = process.env[name];
    process.env[name] = value;
    ends.push(() => (before === undefined ? delete process.env[name] : (process.env[name] = before)));
  }
}

// An endpoint that answers each request so, and a step that asks it.
async function endpoint(reply, settings = {}, other = {}) {
  const requests = [];
  const server = createServer((request, answer) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(pieces).toString());
      requests.push({ url: request.url, headers: request.headers, body });
      const { status = 200, headers = {}, body: said, dies = false, hangs = false } = reply;
      if (dies) return request.socket.destroy();
      if (hangs) return undefined;
      return answer.writeHead(status, headers).end(typeof said === "string" ? said : JSON.stringify(said));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => (server.closeAllConnections(), server.close()));
  set({
    CAIRN_MODEL_URL: `http://127.0.0.1:${server.address().port}/v1`, CAIRN_MODEL: "m", CAIRN_MODEL_KEY: "sesame-key",
    CAIRN_MODEL_COST_IN: "1", CAIRN_MODEL_COST_OUT: "2", ...settings,
  });
  return { step: step(other), requests };
}

function step(other = {}) {
  return new Step({ claim: "c", run: "r", graph: "g", node: "n", step: 1, attempt: 1, key: "r/1", input: {},
    deadline_ms: 5_000, tags: {}, ...other });
}

test("a call is sent with the step's key and recorded", async () => {
  const { step, requests } = await endpoint({ body: chat });
  const reply = await step.model("two and two?", { options: { temperature: 0 } });
  assert.deepEqual([reply.text, reply.value, reply.tokensIn, reply.finishReason], ["four", "four", 10, "stop"]);
  assert.equal(requests[0].url, "/v1/chat/completions");
  assert.equal(requests[0].headers["idempotency-key"], "r/1");
  assert.equal(requests[0].headers.authorization, "Bearer sesame-key");
  const messages = [{ role: "user", content: "two and two?" }];
  assert.deepEqual(requests[0].body, { model: "m", messages, temperature: 0 });
  const { latency_ms, ...fact } = step.facts[0];
  assert.ok(latency_ms >= 0);
  assert.deepEqual(fact, {
    type: "model_called", node: "n", request: { messages, options: { temperature: 0 } }, model: "m-1",
    reply: { role: "assistant", content: "four" }, tokens_in: 10, tokens_out: 2, tokens_cached: 4, cost: 14e-6,
    finish_reason: "stop", response_id: "c1", ok: true,
  });
});

test("an endpoint of responses is asked in its form", async () => {
  const { step, requests } = await endpoint({ body: response }, { CAIRN_MODEL_API: "responses" });
  const reply = await step.model("x");
  assert.deepEqual([reply.text, reply.tokensIn, reply.finishReason], ["four", 10, "stop"]);
  assert.equal(requests[0].url, "/v1/responses");
  assert.deepEqual(requests[0].body, { model: "m", store: false, input: [{ role: "user", content: "x" }] });
  assert.equal(step.facts[0].tokens_cached, 4);
});

test("a use out of all bounds is recorded within those of a fact", async () => {
  const { step } = await endpoint({ body: { ...chat, usage: { prompt_tokens: -1, completion_tokens: 5e15 } } });
  await step.model("x");
  const [fact] = step.facts;
  assert.deepEqual([fact.tokens_in, fact.tokens_out, fact.ok], [0, 1e15, true]);
});

test("calls of tools go to an endpoint of responses, and come from it, as chat has them", async () => {
  const called = { id: "t1", type: "function", function: { name: "add", arguments: "{}" } };
  const output = [{ type: "function_call", call_id: "t1", name: "add", arguments: "{}" }];
  const { step, requests } = await endpoint({ body: { ...response, output } }, { CAIRN_MODEL_API: "responses" });
  const messages = [{ role: "assistant", content: "", tool_calls: [called] },
    { role: "tool", tool_call_id: "t1", content: "4" }];
  const tools = [{ type: "function", function: { name: "add", parameters: {} } }];
  const reply = await step.model(messages, { tools, schema: { type: "object" } });
  assert.deepEqual([reply.message.tool_calls, reply.finishReason, reply.value], [[called], "tool_calls", ""]);
  assert.deepEqual(requests[0].body.input, [
    { type: "function_call", call_id: "t1", name: "add", arguments: "{}" },
    { type: "function_call_output", call_id: "t1", output: "4" }]);
  assert.deepEqual(requests[0].body.tools, [{ type: "function", name: "add", parameters: {} }]);
});

test("a schema asks for JSON and reads it", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"],
    additionalProperties: false };
  const body = structuredClone(chat);
  body.choices[0].message.content = '```json\n{"n": 4}\n```';
  for (const [format, expected] of [["", "json_schema"], ["json_object", "json_object"], ["none", undefined]]) {
    const { step, requests } = await endpoint({ body }, { CAIRN_MODEL_FORMAT: format });
    assert.deepEqual((await step.model("x", { schema })).value, { n: 4 });
    const sent = requests[0].body;
    assert.equal(sent.response_format?.type, expected);
    if (format === "") assert.deepEqual(sent.response_format.json_schema, { name: "reply", schema, strict: true });
    else assert.ok(sent.messages[1].content.includes(JSON.stringify(schema)));
  }
  const { step, requests } = await endpoint({ body }, { CAIRN_MODEL_FORMAT: "" });
  await step.model("x", { schema: { ...schema, required: [] } });
  assert.equal(requests[0].body.response_format.json_schema.strict, false);
});

test("another call and a call after a bad reply have another key", async () => {
  const { step: first, requests } = await endpoint({ body: chat });
  await first.model("x");
  await first.model("y");
  await step({ attempt: 2, failed: { error: "bad_reply", message: "m" } }).model("x");
  await step({ attempt: 2, failed: { error: "refused", message: "m" } }).model("x");
  assert.deepEqual(requests.map((one) => one.headers["idempotency-key"]), ["r/1", "r/1#2", "r/1/2", "r/1"]);
});

async function failed(kind, error, says, reply, settings = {}, other = {}) {
  const { step } = await endpoint(reply, settings, other);
  const thrown = await step.model("x", { schema: { type: "object" } }).then(assert.fail, (failure) => failure);
  assert.ok(thrown instanceof kind, String(thrown));
  assert.equal(thrown.error, error);
  assert.match(thrown.message, says);
  const { ok, error: recorded, message } = step.facts[0];
  assert.deepEqual([ok, recorded, message], [false, error, thrown.message]);
  assert.ok(!JSON.stringify([thrown.message, step.facts]).includes("sesame-key"));
  return { thrown, fact: step.facts[0] };
}

test("what may come right is tried again", async () => {
  const busy = { status: 429, headers: { "Retry-After": "7" }, body: {} };
  assert.equal((await failed(Again, "refused", /status 429/, busy)).thrown.retryMs, 7_000);
  await failed(Again, "refused", /status 503 and "\*\*\*"/, { status: 503, body: "sesame-key" });
  await failed(Again, "unreachable", /Expected an answer of the model endpoint/, { dies: true });
  await failed(Again, "bad_reply", /Expected a completion/, { body: { choices: [] } });
  await failed(Again, "bad_reply", /Expected a reply that is JSON, but it began with "four"/, { body: chat });
});

test("what will not come right is final", async () => {
  await failed(Final, "refused", /status 401/, { status: 401, body: { error: "sesame-key" } });
  await failed(Final, "refused", /status 302/, { status: 302, headers: { Location: "http://else.example/" } });
  const filtered = { ...chat, choices: [{ message: { content: "" }, finish_reason: "content_filter" }] };
  await failed(Final, "refused", /content filter/, { body: filtered });
  await failed(Final, "limit", /at most 16777216 bytes/, { body: "x".repeat(17 << 20) });
  const { step } = await endpoint({ body: chat });
  await assert.rejects(step.model("x", { options: { top_p: NaN } }), { name: "Final", error: "invalid" });
});

test("a cut reply is on record with its cost", async () => {
  const cut = { ...chat, choices: [{ message: { content: "fo" }, finish_reason: "length" }] };
  const { fact } = await failed(Again, "bad_reply", /Expected a whole reply/, { body: cut });
  assert.equal(fact.tokens_out, 2);
});

test("the claim's deadline ends a call that is not answered", async () => {
  const began = performance.now();
  await failed(Again, "unreachable", /within \d+ ms/, { hangs: true }, {}, { deadline_ms: 400 });
  await failed(Again, "unreachable", /within 100 ms/, { hangs: true }, { CAIRN_MODEL_MS: "100" });
  assert.ok(performance.now() - began < 3_000);
});

test("a step that is cancelled ends its call", async () => {
  const { step, requests } = await endpoint({ hangs: true });
  const asked = assert.rejects(step.model("x"), { name: "Again", error: "unreachable" });
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  step.abort();
  await asked;
});

test("settings that are wrong are named", async () => {
  const cases = [
    [{ CAIRN_MODEL_URL: "" }, /Expected a model in CAIRN_MODEL_URL, but there is none\./],
    [{ CAIRN_MODEL_URL: "models" }, /Expected the address of a model \(CAIRN_MODEL_URL\) as http/],
    [{ CAIRN_MODEL_URL: "http://ann:secret@x/" }, /without a user and a password, but it has them\.$/],
    [{ CAIRN_MODEL_API: "x" }, /Expected CAIRN_MODEL_API to be chat or responses, but found "x"\./],
    [{ CAIRN_MODEL_FORMAT: "x" }, /Expected CAIRN_MODEL_FORMAT to be json_schema/],
    [{ CAIRN_MODEL_MS: "soon" }, /Expected CAIRN_MODEL_MS to be a number/],
    [{ CAIRN_MODEL_COST_IN: "-1" }, /Expected CAIRN_MODEL_COST_IN to be a number/],
    [{ CAIRN_MODEL_SCRIPT: "f" }, /Expected no CAIRN_MODEL_SCRIPT/],
    [{ CAIRN_MODEL_KEY: "a\nb" }, /^Expected CAIRN_MODEL_KEY of visible characters/],
  ];
  for (const [settings, says] of cases) {
    const { step } = await endpoint({ body: chat }, settings);
    await assert.rejects(step.model("x"), (thrown) => thrown instanceof Final && says.test(thrown.message));
    for (const end of ends.splice(0)) end();
  }
});

test("a pause that is longer than the server takes is cut to that", () => {
  assert.equal(failureOf(new Again("busy", { retryMs: 7_200_000 })).retry_ms, 3_600_000);
  assert.equal(failureOf(new Again("busy", { retryMs: Infinity })).retry_ms, 3_600_000);
});
