// A question and the form for its answer. One answer wins: where another one was first, it says whose.
import { useSignal } from "@preact/signals";
import { may, post, type Refusal } from "../api/client";
import type { Json } from "../api/types";
import { excerpt } from "../pages/run/event_words";
import { JsonTree } from "./json_tree";
import { SchemaForm } from "./form/form";
import { Until } from "./time";

export interface Asked {
  id: string;
  kind: string;
  prompt: Json;
  schema?: Json;
  default?: Json;
  expires_at?: string | null | undefined;
}

export function Prompt({ prompt }: { prompt: Json }) {
  if (typeof prompt === "string") return <p class="prompt"><bdi>{prompt}</bdi></p>;
  const text = (prompt as { text?: unknown } | null)?.text;
  if (typeof text === "string") return <p class="prompt"><bdi>{text}</bdi></p>;
  return <JsonTree value={prompt} open={3} />;
}

export function Expiry({ question }: { question: Asked }) {
  if (question.expires_at === null || question.expires_at === undefined) return null;
  return (
    <p class="muted">
      {question.default === undefined ? "Closes" : `Taken as ${excerpt(question.default, 80)}`}{" "}
      if it is not answered: <Until at={question.expires_at} />
    </p>
  );
}

interface Props {
  run: string;
  question: Asked;
  onDone?: () => void;
  send?: (value: unknown) => Promise<unknown>; // where not by the route of the run
}

export function AnswerForm({ run, question, onDone, send }: Props) {
  const isDone = useSignal(false);
  const closed = useSignal("");
  const answer = async (value: Json) => {
    try {
      await (send ?? ((given) => post(`runs/${run}/answers`, { question: question.id, value: given })))(value);
      isDone.value = true;
    } catch (refusal) {
      if ((refusal as Refusal).code !== "closed") throw refusal;
      closed.value = (refusal as Refusal).message;
    }
    onDone?.();
  };
  if (isDone.value) return <p class="answered" role="status">Answered. The run goes on.</p>;
  if (closed.value !== "") return <p class="answered" role="status"><bdi>{closed.value}</bdi></p>;
  if (send === undefined && !may("answer")) return <p class="muted">Your token does not allow answers.</p>;
  return <SchemaForm schema={question.schema ?? {}} action="Answer" send={answer} />;
}
