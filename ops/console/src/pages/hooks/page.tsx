// The hooks: what each sends when something happens to a run, and what waits; one of them with all its notices.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { get, mayForAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Hook } from "../../api/types";
import { useKeys } from "../../keys";
import { useChosen } from "../../parts/chosen";
import { Empty, Read } from "../../parts/states";
import { amend, go, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { HookDialog } from "./definition";
import { HookTable } from "./hook_table";
import { OneHook } from "./one_hook";

export function Page() {
  const name = route.value.rest[0];
  return name === undefined ? <AllHooks /> : <OneHook key={name} name={name} />;
}

function AllHooks() {
  const hooks = useResource<Hook[]>("hooks", (signal) => get<Hook[]>("hooks", {}, signal), 5000);
  const word = route.value.query.get("name") ?? "";
  const isAdding = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", says: "Names with these letters", act: () => field.current?.focus() }]);
  useCommandLines(curlLine("hooks"), "cairn hook list");
  return (
    <>
      <div class="page-head">
        <h1>Hooks</h1>
        {mayForAll("admin") && <button type="button" onClick={() => (isAdding.value = true)}>New hook…</button>}
        <div class="page-filter">
          <input ref={field} type="text" aria-label="Names with these letters" placeholder="Name" value={word}
            spellcheck={false} autocomplete="off" onInput={(event) => amend({ name: event.currentTarget.value })} />
        </div>
      </div>
      <Read from={hooks}>{(all) => <List all={all} word={word} />}</Read>
      {isAdding.value && (
        <HookDialog onClose={() => (isAdding.value = false)} onDone={(added) => go(["hooks", added])} />
      )}
    </>
  );
}

function List({ all, word }: { all: Hook[]; word: string }) {
  const hooks = all.filter((hook) => hook.name.includes(word));
  const nameOf = (hook: Hook) => hook.name;
  const chosen = useChosen({ rows: hooks, nameOf, noun: "hook", open: (hook) => go(["hooks", hook.name]) });
  if (hooks.length > 0) return <HookTable hooks={hooks} chosen={chosen} />;
  if (word !== "") return <Empty title="No hook has these letters" />;
  return (
    <Empty title="No hook is here">
      <p>A hook sends a message to a URL when something happens to a run:</p>
      <pre>cairn hook add chat --url https://chat.example/in --on failed,waits --secret CHAT</pre>
    </Empty>
  );
}
