// One call of a language model by a step: bounded in bytes and time, on record whether it succeeds or fails.
import type { Any, Fields } from "./api.js";
import { Again, exactJson, Final } from "./failures.js";
import { isAddress, limited, retryMsOf, sentenceOf } from "./http.js";
import { type Api, type Completion, type Format, type Message } from "./model_api.js";
import { type ModelRequest, readCompletion, requestBody } from "./model_api.js";
import { env } from "./process.js";

const bytesMax = 16 * 1024 * 1024; // of a value in the database
const shown = 300;
const timerMaxMs = 2 ** 31 - 1;
const keyMin = 8; // a shorter key stands in too many replies
const formats: Record<string, Format> = {
  "": "json_schema", json_schema: "json_schema", json_object: "json_object", none: "text", text: "text",
};

export interface ModelReply {
  text: string;
  value: Any; // the text read as JSON where a schema is given, else the text
  message: Message;
  model: string;
  tokensIn: number;
  tokensOut: number;
  cost: number;
  finishReason: string;
}

export interface ModelCall {
  request: ModelRequest;
  node: string;
  key: string; // its Idempotency-Key
  leftMs: number; // of the step's time
  signal: AbortSignal; // of the step
  record(type: string, fields: Fields): void;
}

// --- the endpoint ---------------------------------------------------------------------------------------------------

// The endpoint of the variables CAIRN_MODEL_..., as the workers of `cairn work` read them.
interface Endpoint {
  url: string;
  model: string;
  key: string;
  api: Api;
  format: Format;
  ms: number;
  costIn: number;
  costOut: number;
}

function endpointOfEnvironment(): Endpoint {
  const given = (name: string): string => env(`CAIRN_MODEL${name}`) ?? "";
  const [url, key, api, format] = [given("_URL"), given("_KEY"), given("_API") || "chat", formats[given("_FORMAT")]];
  if (given("_SCRIPT")) throw wrong("no CAIRN_MODEL_SCRIPT, which only `cairn work` reads", given("_SCRIPT"));
  if (!url) throw new Final("Expected a model in CAIRN_MODEL_URL, but there is none.", { error: "refused" });
  const expected = "the address of a model (CAIRN_MODEL_URL)";
  if (url.includes("@"))
    throw new Final(`Expected ${expected} without a user and a password, but it has them.`, { error: "invalid" });
  if (!isAddress(url) || /[?#]/.test(url)) throw wrong(`${expected} as http://HOST or https://HOST`, url);
  if (api !== "chat" && api !== "responses") throw wrong("CAIRN_MODEL_API to be chat or responses", api);
  if (!format) throw wrong("CAIRN_MODEL_FORMAT to be json_schema, json_object, none or text", given("_FORMAT"));
  if (!/^[\x20-\x7e]*$/.test(key))
    throw new Final("Expected CAIRN_MODEL_KEY of visible characters, but it has others.", { error: "invalid" });
  return {
    url: url.replace(/\/+$/, ""),
    model: given(""),
    key,
    api,
    format,
    ms: number("_MS") || Infinity,
    costIn: number("_COST_IN"),
    costOut: number("_COST_OUT"),
  };

  function number(name: string): number {
    const found = Number(given(name));
    if (Number.isFinite(found) && found >= 0) return found;
    throw wrong(`CAIRN_MODEL${name} to be a number of at least 0`, given(name));
  }
}

function wrong(expected: string, found: string): Final {
  return new Final(`Expected ${expected}, but found ${JSON.stringify(found.slice(0, 100))}.`, { error: "invalid" });
}

// --- one call -------------------------------------------------------------------------------------------------------

// Throws Again for what may come right by itself, Final for the rest.
export async function askModel(call: ModelCall): Promise<ModelReply> {
  const endpoint = endpointOfEnvironment();
  const began = performance.now();
  const text = bodyOf(endpoint, call.request);
  const { messages, ...more } = call.request;
  const fact: Fields = { node: call.node, request: JSON.parse(JSON.stringify({ messages, ...more })) };
  try {
    const completion = completionOf(endpoint, await answerOf(endpoint, call, text));
    const reply = replyOf(endpoint, call.request, completion);
    Object.assign(fact, fieldsOf(completion, reply));
    check(completion);
    const callsTools = completion.message.tool_calls?.length > 0 && reply.text === "";
    if (call.request.schema !== undefined && !callsTools) reply.value = jsonIn(reply.text);
    fact.ok = true;
    return reply;
  } catch (thrown) {
    const failure = withoutKey(endpoint.key, thrown);
    Object.assign(fact, { ok: false, error: failure.error, message: failure.message });
    throw failure;
  } finally {
    fact.latency_ms = Math.trunc(performance.now() - began);
    call.record("model_called", fact);
  }
}

function bodyOf(endpoint: Endpoint, request: ModelRequest): string {
  let text: string;
  try {
    text = exactJson(requestBody(endpoint.api, request, request.model || endpoint.model, endpoint.format));
  } catch (fault) {
    throw new Final(`Expected a request that is JSON, but: ${sentenceOf(fault)}.`, { error: "invalid" });
  }
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= bytesMax) return text;
  throw new Final(`Expected a conversation of at most ${bytesMax} bytes, but it has ${bytes}.`, { error: "limit" });
}

// A little less than the step's time, so that the call is on record before the step is given up.
function timeOf(endpoint: Endpoint, leftMs: number): number {
  return Math.trunc(Math.max(Math.min(leftMs - Math.min(leftMs / 10, 1_000), endpoint.ms, timerMaxMs), 1));
}

// The text of an answer with status 200.
async function answerOf(endpoint: Endpoint, call: ModelCall, body: string): Promise<string> {
  const path = endpoint.api === "responses" ? "/responses" : "/chat/completions";
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/json",
    "Idempotency-Key": call.key,
    ...(endpoint.key && { Authorization: `Bearer ${endpoint.key}` }),
  };
  const limit = limited(timeOf(endpoint, call.leftMs), call.signal);
  try {
    const asked = { method: "POST", headers, body, signal: limit.signal, redirect: "manual" } as const;
    const response = await fetch(endpoint.url + path, asked);
    const text = hidden(endpoint.key, await boundedText(response));
    if (response.status === 200) return text;
    throw refusalOf(response, text);
  } catch (thrown) {
    if (thrown instanceof Again || thrown instanceof Final) throw thrown;
    const says = `Expected an answer of the model endpoint, but: ${sentenceOf(thrown)}`;
    throw new Again(says, { error: "unreachable" });
  } finally {
    limit.end();
  }
}

async function boundedText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > bytesMax) {
      await reader.cancel().catch(() => undefined);
      throw new Final(`Expected an answer of at most ${bytesMax} bytes, but it has more.`, { error: "limit" });
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function refusalOf(response: Response, text: string): Again | Final {
  const says = `Expected a completion, but found status ${response.status} and ${startOf(text)}.`;
  const mayPass = response.status === 408 || response.status === 429 || response.status >= 500;
  return mayPass
    ? new Again(says, { error: "refused", retryMs: retryMsOf(response) })
    : new Final(says, { error: "refused" });
}

function completionOf(endpoint: Endpoint, text: string): Completion {
  try {
    return readCompletion(endpoint.api, JSON.parse(text));
  } catch {
    throw new Again(`Expected a completion, but found ${startOf(text)}.`, { error: "bad_reply" });
  }
}

function replyOf(endpoint: Endpoint, request: ModelRequest, came: Completion): ModelReply {
  const text = textOf(came.message.content);
  const { message, tokensIn, tokensOut, finishReason } = came;
  const cost = (tokensIn * endpoint.costIn + tokensOut * endpoint.costOut) / 1e6;
  const model = came.model || request.model || endpoint.model;
  return { text, value: text, message, model, tokensIn, tokensOut, cost, finishReason };
}

function fieldsOf(came: Completion, reply: ModelReply): Fields {
  return {
    model: reply.model,
    reply: came.message,
    tokens_in: came.tokensIn,
    tokens_out: came.tokensOut,
    cost: reply.cost,
    ...(came.tokensCached && { tokens_cached: came.tokensCached }),
    ...(came.tokensReasoning && { tokens_reasoning: came.tokensReasoning }),
    ...(came.finishReason && { finish_reason: came.finishReason }),
    ...(came.id && { response_id: came.id }),
  };
}

// A refused, filtered or cut reply is none.
function check({ message, finishReason }: Completion): void {
  if (message.refusal) {
    const says = String(message.refusal).slice(0, shown);
    throw new Final(`Expected a reply, but the model refused: ${says}`, { error: "refused" });
  }
  if (finishReason === "length")
    throw new Again("Expected a whole reply, but the model stopped at its limit of length.", { error: "bad_reply" });
  if (finishReason === "content_filter")
    throw new Final("Expected a reply, but the endpoint's content filter withheld it.", { error: "refused" });
}

// --- texts ----------------------------------------------------------------------------------------------------------

function hidden(key: string, text: string): string {
  return key.length < keyMin ? text : text.replaceAll(key, "***");
}

function withoutKey(key: string, thrown: unknown): Again | Final {
  const failure =
    thrown instanceof Again || thrown instanceof Final ? thrown : new Again(sentenceOf(thrown), { error: "bad_reply" });
  if (key) failure.message = failure.message.replaceAll(key, "***");
  return failure;
}

function startOf(text: string): string {
  return JSON.stringify(text.slice(0, shown));
}

function textOf(content: Any): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => String(part?.text ?? "")).join("") : "";
}

// The JSON of a reply, which may stand in a fence.
function jsonIn(text: string): Any {
  let bare = text.trim();
  if (bare.startsWith("```")) bare = bare.slice(bare.indexOf("\n") + 1, bare.lastIndexOf("```"));
  try {
    return JSON.parse(bare);
  } catch {
    throw new Again(`Expected a reply that is JSON, but it began with ${startOf(text)}.`, { error: "bad_reply" });
  }
}
