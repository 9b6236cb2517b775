// Why a schedule ran on a day or at a time, or did not.
import { useSignal } from "@preact/signals";
import { get, Refusal } from "../../api/client";
import { useResource } from "../../api/resource";
import type { ScheduleExplanation } from "../../api/types";
import { Read } from "../../parts/states";
import { amend, link, route } from "../../router";

export function Why({ path }: { path: string }) {
  const at = route.value.query.get("why") ?? "";
  const text = useSignal(at);
  const submit = (event: Event) => {
    event.preventDefault();
    amend({ why: text.value.trim() });
  };
  return (
    <section class="card" aria-label="Why">
      <h2>Why did it run, or not?</h2>
      <form class="why-form" onSubmit={submit}>
        <label>A day or a time in its zone
          <input type="text" placeholder="2026-11-23 or 2026-11-23T09:00" spellcheck={false} autocomplete="off"
            value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        <button type="submit">Explain</button>
      </form>
      {at !== "" && <Answer key={at} path={path} at={at} />}
    </section>
  );
}

const runId = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/;

// A sentence in which runs are named.
function Linked({ text }: { text: string }) {
  return (
    <bdi>{text.split(runId).map((part, index) => index % 2 === 0 ? part : <a href={link(["run", part])}>{part}</a>)}
    </bdi>
  );
}

function Answer({ path, at }: { path: string; at: string }) {
  const answer = useResource<ScheduleExplanation>(
    at, (signal) => get<ScheduleExplanation>(`${path}/explain`, { at }, signal));
  if (answer.error.value instanceof Refusal && answer.data.value === undefined)
    return <p class="refusal" role="alert">{answer.error.value.message}</p>;
  return (
    <Read from={answer}>
      {({ says }) => (
        <ul class="why-says" role="status">{says.map((line) => <li key={line}><Linked text={line} /></li>)}</ul>
      )}
    </Read>
  );
}
