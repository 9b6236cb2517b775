// One question for someone who has a link to it, and needs nothing else. The link's token stays in this page's address
// after "#", which browsers keep to themselves.
import { useSignal } from "@preact/signals";
import { post } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Answered, LinkedQuestion } from "../../api/types";
import { AnswerForm, Expiry, Prompt } from "../../parts/answer_form";
import { Bare, Empty, Failure, Loading } from "../../parts/states";
import { Exact } from "../../parts/time";
import { route } from "../../router";
import { CommandLines, curlLine, useCommandLines } from "../../shell/command_lines";

const everyMs = 5000; // so that a reader sees when another one was first

export function Page() {
  const token = route.value.query.get("token") ?? "";
  return (
    <Bare title="A question">
      {token === ""
        ? <Empty title="No question is named"><p>Open the whole link as it was sent.</p></Empty>
        : <Linked token={token} />}
    </Bare>
  );
}

function Linked({ token }: { token: string }) {
  const isDone = useSignal(false);
  const isSending = useSignal(false); // the question may be read as closed by this very answer
  const read = useResource<LinkedQuestion>(`link ${token}`, (signal) =>
    post<LinkedQuestion>("links/question", { token }, signal), isDone.value ? 0 : everyMs);
  const found = read.data.value;
  useLines(token, found);
  if (read.error.value?.code === "closed" && !isDone.value && !isSending.value)
    return <Empty title="This question is closed"><p><bdi>{read.error.value.message}</bdi></p></Empty>;
  if (found === undefined) return read.error.value === undefined ? <Loading /> : <Failure error={read.error.value} />;
  const send = async (value: unknown) => {
    isSending.value = true;
    try {
      const answered = await post<Answered>("links/answer", { token, value });
      isDone.value = true; // before it is not sending any more
      return answered;
    } finally {
      isSending.value = false;
    }
  };
  return (
    <article class="card linked">
      <p class="muted"><bdi>{found.graph}</bdi> asks <bdi>{found.by.replace(/^link:/, "")}</bdi></p>
      <Prompt prompt={found.question.prompt} />
      <Expiry question={found.question} />
      <AnswerForm run={found.run} question={found.question} send={send} />
      <p class="muted small">This link holds until <Exact at={found.expires_at} />, for this question and one
        answer.</p>
      <details class="as-commands-of">
        <summary class="muted small">As commands</summary>
        <CommandLines />
      </details>
    </article>
  );
}

// The link's own way needs nothing but the link; who has the database answers by `cairn`.
function useLines(token: string, found: LinkedQuestion | undefined): void {
  const answer = found === undefined ? "cairn questions"
    : `cairn answer ${found.run} --question ${found.question.id} --value JSON`;
  useCommandLines(curlLine("links/question", {}, { token }), answer);
}
