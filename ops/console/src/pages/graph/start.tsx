// A start of the graph by a form made from the schema of its input.
import { useSignal } from "@preact/signals";
import { may, post } from "../../api/client";
import type { Json } from "../../api/types";
import { SchemaForm } from "../../parts/form/form";
import { tagsOf } from "../../parts/tags";
import { go, link } from "../../router";
import { say } from "../../shell/notices";
import type { Shown } from "./page";

export function Start({ shown }: { shown: Shown }) {
  const tags = useSignal("");
  const key = useSignal("");
  if (!may("run")) return <p class="refusal">Your token may not start runs.</p>;
  const current = shown.versions.find((line) => line.current)?.version;
  if (!shown.isCurrent)
    return <p>New runs take the current version: <a
      href={link(["graph", shown.name], { show: "start", version: current })}>start that
      one</a>.</p>;
  const { input } = shown.graph as { input?: Json };
  const send = async (value: Json) => {
    const body: Record<string, Json> = { graph: shown.name, input: value ?? {} };
    if (tags.value.trim() !== "") body.tags = tagsOf(tags.value);
    if (key.value.trim() !== "") body.key = key.value.trim();
    const { run } = await post<{ run: string }>("runs", body);
    say(`${shown.name} is started.`);
    go(["run", run]);
  };
  return (
    <section class="start-form card" aria-label="Start">
      <SchemaForm schema={input ?? { type: "object" }} preset={input === undefined ? {} : undefined}
        action="Start a run" send={send}>
        <details>
          <summary class="muted">Tags and a key</summary>
          <label>Tags
            <input type="text" placeholder="team=a, customer=ann" spellcheck={false} value={tags.value}
              onInput={(event) => (tags.value = event.currentTarget.value)} />
          </label>
          <label>Key: the same key starts one run only
            <input type="text" spellcheck={false} value={key.value}
              onInput={(event) => (key.value = event.currentTarget.value)} />
          </label>
        </details>
      </SchemaForm>
    </section>
  );
}
