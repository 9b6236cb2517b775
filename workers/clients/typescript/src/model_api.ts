// The two forms in which an OpenAI-compatible endpoint is asked: chat completions, and responses.
import type { Any, Fields } from "./api.js";

export type Api = "chat" | "responses";
export type Format = "json_schema" | "json_object" | "text";
export type Message = Fields; // as chat completions have it

const tokensMax = 1e15; // that the API takes in a fact

export interface ModelOptions {
  model?: string; // CAIRN_MODEL
  schema?: Any; // JSON Schema of the reply
  tools?: Any[];
  options?: Fields; // more fields of the request, as the endpoint knows them
}

export interface ModelRequest extends ModelOptions {
  messages: Message[];
}

// An answer of either form, as chat completions call it.
export interface Completion {
  id: string;
  model: string;
  message: Message;
  finishReason: string;
  tokensIn: number;
  tokensOut: number;
  tokensCached: number;
  tokensReasoning: number;
}

export function requestBody(api: Api, request: ModelRequest, model: string, format: Format): Fields {
  const { schema, tools, options } = request;
  const messages = [...request.messages];
  if (schema !== undefined && format !== "json_schema")
    messages.push({ role: "system", content: `Answer with JSON alone, of this schema: ${JSON.stringify(schema)}` });
  const form = replyForm(schema, format);
  if (api === "chat")
    return { ...options, model, messages, ...(tools && { tools }), ...(form && { response_format: form }) };
  return {
    ...options,
    model,
    store: false,
    input: messages.flatMap(itemsOf),
    ...(tools && { tools: tools.map((tool) => ({ type: "function", ...tool.function })) }),
    ...(form && { text: { format: { type: form.type, ...form.json_schema } } }),
  };
}

function replyForm(schema: Any, format: Format): Fields | undefined {
  if (schema === undefined || format === "text") return undefined;
  if (format === "json_object") return { type: "json_object" };
  return { type: "json_schema", json_schema: { name: "reply", schema, strict: isStrict(schema) } };
}

// A strict endpoint takes only schemas whose objects have all of their properties and no others.
function isStrict(schema: Any): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (typeof schema !== "object" || schema === null) return true;
  if (schema.type === "object") {
    if (schema.additionalProperties !== false) return false;
    const names = Object.keys(schema.properties ?? {});
    const required = new Set(schema.required ?? []);
    if (required.size !== names.length || !names.every((name) => required.has(name))) return false;
  }
  return Object.values(schema).every(isStrict);
}

// One message is one item of responses, or several: the text, and each call of a tool.
function itemsOf(message: Message): Fields[] {
  if (message.role === "tool")
    return [{ type: "function_call_output", call_id: message.tool_call_id, output: message.content }];
  const calls: Any[] = message.tool_calls ?? [];
  const text = { role: message.role, content: message.content || "" };
  const called = calls.map((call) => ({ type: "function_call", call_id: call.id, ...call.function }));
  return message.content || calls.length === 0 ? [text, ...called] : called;
}

// Throws for what is none.
export function readCompletion(api: Api, answer: Any): Completion {
  const isChat = api === "chat";
  const { message, finishReason } = isChat ? chatMessage(answer) : responseMessage(answer);
  const use = answer.usage ?? {};
  const [into, out] = isChat ? ["prompt_tokens", "completion_tokens"] : ["input_tokens", "output_tokens"];
  return {
    id: String(answer.id ?? ""),
    model: String(answer.model ?? ""),
    message,
    finishReason,
    tokensIn: count(use[into!]),
    tokensOut: count(use[out!]),
    tokensCached: count(use[`${into}_details`]?.cached_tokens),
    tokensReasoning: count(use[`${out}_details`]?.reasoning_tokens),
  };
}

function count(value: unknown): number {
  const number = Math.trunc(Number(value ?? 0));
  if (!Number.isSafeInteger(number)) throw new TypeError("no count of tokens");
  return Math.min(Math.max(number, 0), tokensMax);
}

interface Said {
  message: Message;
  finishReason: string;
}

function chatMessage(answer: Any): Said {
  const choice = answer.choices[0];
  if (typeof choice.message !== "object" || choice.message === null) throw new TypeError("no message");
  return { message: choice.message, finishReason: String(choice.finish_reason ?? "") };
}

function responseMessage(answer: Any): Said {
  const message: Message = { role: "assistant", content: null };
  for (const item of answer.output) {
    if (item.type === "function_call") {
      const called = { id: item.call_id, type: "function", function: { name: item.name, arguments: item.arguments } };
      (message.tool_calls ??= []).push(called);
    }
    if (item.type !== "message") continue;
    for (const part of item.content) {
      if ("refusal" in part) message.refusal = part.refusal;
      message.content = (message.content ?? "") + String(part.text ?? "");
    }
  }
  const reason = answer.incomplete_details?.reason;
  if (reason) return { message, finishReason: reason === "max_output_tokens" ? "length" : String(reason) };
  if (message.content === null && !message.tool_calls) throw new TypeError("no message");
  return { message, finishReason: message.tool_calls ? "tool_calls" : "stop" };
}
