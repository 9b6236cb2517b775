// Calls of models until the moment: model, tokens, cost, and each with its prompt and its reply.
import { useSignal } from "@preact/signals";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { EventOf } from "../../api/types";
import { JsonTree } from "../../parts/json_tree";
import { Empty, Read } from "../../parts/states";
import { duration } from "../../parts/time";
import { useRun } from "./moment";
import { countUpTo } from "./steps";

type Call = EventOf<"model_called">;
const shownFirst = 50;

interface Message {
  role: string;
  content: unknown;
}

function messagesOf(value: unknown): Message[] | undefined {
  const list = Array.isArray(value) ? value : (value as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(list) || !list.every((one) => typeof (one as Message)?.role === "string")) return undefined;
  return list as Message[];
}

function Text({ value }: { value: unknown }) {
  if (typeof value === "string") return <p class="text"><bdi>{value}</bdi></p>;
  return <JsonTree value={value ?? null} open={2} />;
}

function Prompt({ request }: { request: unknown }) {
  const messages = messagesOf(request);
  if (messages === undefined) return <Text value={request} />;
  return (
    <ol class="messages">
      {messages.map((message, index) => (
        <li key={index}><h3>{message.role}</h3><Text value={message.content ?? message} /></li>
      ))}
    </ol>
  );
}

// A message that the model said, with what it has besides its text, as calls of tools.
function Reply({ reply }: { reply: unknown }) {
  const { role, content, ...more } = (reply ?? {}) as Record<string, unknown>;
  if (typeof role !== "string" || typeof content !== "string") return <Text value={reply} />;
  return (
    <>
      {content !== "" && <Text value={content} />}
      {Object.keys(more).length > 0 && <JsonTree value={more} open={2} />}
    </>
  );
}

// With `raw` without what is large.
function useCall(seq: number, raw: boolean) {
  const { run } = useRun();
  return useResource<Call[]>(`call ${run} ${seq} ${raw}`, (signal) =>
    get<Call[]>(`runs/${run}/events`, { from: seq, limit: 1, raw }, signal));
}

// The whole prompt and reply; the row above them stays as it is while they are read.
function Said({ seq }: { seq: number }) {
  return (
    <Read from={useCall(seq, false)}>{([call]) => call === undefined ? null : (
      <>
        <h2>Prompt</h2>
        <Prompt request={call.request} />
        <h2>Reply</h2>
        <Reply reply={call.reply} />
      </>
    )}</Read>
  );
}

function OneCall({ seq }: { seq: number }) {
  const view = useRun();
  const isOpen = useSignal(false);
  const read = useCall(seq, true);
  return (
    <li class="call">
      <Read from={read}>{([call]) => call === undefined ? null : (
        <>
          <button type="button" class="goal" aria-expanded={isOpen.value}
            onClick={() => (isOpen.value = !isOpen.value)}>
            <span class="number muted">{seq}</span>
            <bdi class="goal-name">{call.model ?? "a model"}</bdi>
            <span class="muted"><bdi>{call.node ?? ""}</bdi></span>
            {call.ok === false && <span class="refusal"><bdi>{call.error}: {call.message}</bdi></span>}
            <span class="call-facts number muted">
              {(call.tokens_in ?? 0).toLocaleString()} in, {(call.tokens_out ?? 0).toLocaleString()} out,{" "}
              {duration(call.latency_ms ?? 0)}{call.cost ? `, cost ${call.cost.toPrecision(3)}` : ""}
            </span>
          </button>
          {isOpen.value && (
            <div class="goal-detail">
              <Said seq={seq} />
              <button type="button" onClick={() => view.moveTo(seq)}>Show this moment</button>
            </div>
          )}
        </>
      )}</Read>
    </li>
  );
}

export function ModelCalls() {
  const view = useRun();
  const limit = useSignal(shownFirst);
  void view.history.known.value;
  const all = view.history.models;
  const count = countUpTo(all, view.at.value);
  if (count === 0)
    return <Empty title="No model was called"><p>Calls of models until this event are listed here.</p></Empty>;
  const shown = all.slice(Math.max(0, count - limit.value), count).reverse();
  return (
    <>
      <ul class="calls">{shown.map((seq) => <OneCall key={seq} seq={seq} />)}</ul>
      {count > limit.value && (
        <p class="more"><button type="button" onClick={() => (limit.value += shownFirst)}>Earlier calls</button></p>
      )}
    </>
  );
}
