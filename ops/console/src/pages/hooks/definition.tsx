// A hook as a form: a new one, or an edit of how it sends. What it is about stays.
import { useMemo } from "preact/hooks";
import { get, post } from "../../api/client";
import { useResource } from "../../api/resource";
import type { GraphListed, Hook, Json } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form/form";
import { Read } from "../../parts/states";
import { tagsOf } from "../../parts/tags";
import { say } from "../../shell/notices";
import { occasions, type Occasion } from "./words";

const seconds = (title: string, least: number, most: number, description: string) =>
  ({ type: "number", title, minimum: least, maximum: most, description });

const url = { type: "string", title: "URL", format: "uri", maxLength: 2048, description: "Over http or https." };
const secret = { type: "string", pattern: "^[A-Za-z0-9_.-]{1,200}$",
  description: "The name in the tools file of what signs." };
const stalledAfter = seconds("Stands still after, in seconds", 1, 2_592_000,
  "With \"A run stands still\": nothing was committed to it for so long.");

const isOrdered = { const: "ordered", title: "In order: of one run, each only after the one before" };
const isPrivate = { const: "private", title: "The URL may lead to the server's machine or a private network" };
const also = (...options: Json[]) => ({ type: "array", title: "Also", items: { oneOf: options } });

const manner = {
  attempts: { type: "integer", minimum: 1, maximum: 100, description: "Then it is parked, until a person decides." },
  backoff: seconds("First pause, in seconds", 0.01, 3600, "Three times as long after each further failure."),
  timeout: seconds("Answer within, in seconds", 0.1, 60, "What takes longer is a failure."),
};

function newSchema(graphs: string[]): Json {
  return {
    type: "object",
    required: ["name", "url", "on"],
    properties: {
      name: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$" },
      url,
      on: { type: "array", title: "When", minItems: 1,
        items: { oneOf: Object.entries(occasions).map(([value, title]) => ({ const: value, title })) } },
      stalled_after: stalledAfter,
      graph: { enum: graphs, description: "Only runs of this graph." },
      tags: { type: "string", maxLength: 4000, description: "Only runs with these: KEY=VALUE, a line each." },
      secret,
      also: also(isOrdered, isPrivate),
      ...manner,
    },
  };
}

function editSchema(hook: Hook): Json {
  const isSent = hook.url !== undefined;
  const stalled = hook.on.includes("stalled") ? { stalled_after: stalledAfter } : {};
  return {
    type: "object",
    required: ["url", ...Object.keys(stalled)],
    properties: {
      ...(isSent ? { url } : {}), ...stalled, ...(isSent ? { secret } : {}),
      also: isSent ? also(isOrdered, isPrivate) : also(isOrdered),
      ...manner,
    },
  };
}

interface Asked {
  name: string;
  url?: string;
  on: Occasion[];
  stalled_after?: number;
  graph?: string;
  tags?: string;
  secret?: string;
  also?: ("ordered" | "private")[];
  attempts?: number;
  backoff?: number;
  timeout?: number;
}

const ms = (given: number | undefined) => (given === undefined ? undefined : Math.round(given * 1000));

type Manner = Partial<Pick<Hook, "url" | "secret" | "ordered" | "private" | "stalled_after_ms" | "attempts" |
  "backoff_ms" | "timeout_ms">>;

const mannerOf = (asked: Asked) => ({
  url: asked.url, secret: asked.secret, ordered: asked.also?.includes("ordered") ?? false,
  private: asked.also?.includes("private") ?? false, stalled_after_ms: ms(asked.stalled_after),
  attempts: asked.attempts, backoff_ms: ms(asked.backoff), timeout_ms: ms(asked.timeout),
});

const newBody = (asked: Asked): Record<string, Json> => ({
  ...mannerOf(asked), name: asked.name, on: asked.on, graph: asked.graph, tags: tagsOf(asked.tags ?? ""),
});

// What is changed alone, so that an edit by another person of another field stays; null takes a field away.
function changedBody(hook: Manner, asked: Asked): Record<string, Json> {
  const changed = Object.entries(mannerOf(asked)).filter(([name, value]) => value !== hook[name as keyof Manner]);
  if (changed.length === 0) throw new Error("Nothing is changed yet.");
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null]));
}

const inSeconds = (given: number | undefined) => (given === undefined ? undefined : given / 1000);

function presetOf(hook: Hook | undefined): Json {
  if (hook === undefined) return { attempts: 12, backoff: 5, timeout: 10 };
  return {
    url: hook.url, secret: hook.secret, attempts: hook.attempts, stalled_after: inSeconds(hook.stalled_after_ms),
    also: (["ordered", "private"] as const).filter((one) => hook[one]), backoff: inSeconds(hook.backoff_ms),
    timeout: inSeconds(hook.timeout_ms),
  };
}

interface Props {
  hook?: Hook; // none: a new one
  onClose: () => void;
  onDone: (name: string) => void;
}

export function HookDialog({ hook, onClose, onDone }: Props) {
  return (
    <Dialog title={hook === undefined ? "New hook" : `Edit ${hook.name}`} onClose={onClose}>
      {hook === undefined ? <NewHook onDone={onDone} /> : <EditedHook hook={hook} onDone={onDone} />}
    </Dialog>
  );
}

function NewHook({ onDone }: Pick<Props, "onDone">) {
  const graphs = useResource<GraphListed[]>("graphs", (signal) => get<GraphListed[]>("graphs", {}, signal));
  const write = async (value: Json) => {
    const added = await post<Hook>("hooks", newBody(value as Asked));
    say(`${added.name} ${added.words}.`);
    onDone(added.name);
  };
  const namesOf = (found: GraphListed[]) => [...new Set(found.map((graph) => graph.name))].sort();
  return (
    <>
      <p class="muted">It sends what happens from now on. A hook that runs a command is added on its machine:{" "}
        <code>cairn hook add --command</code>.</p>
      <Read from={graphs}>
        {(found) => (
          <SchemaForm schema={newSchema(namesOf(found))} preset={presetOf(undefined)} action="Add it" send={write} />
        )}
      </Read>
    </>
  );
}

function EditedHook({ hook, onDone }: Pick<Props, "onDone"> & { hook: Hook }) {
  const before = useMemo(() => hook, []); // as it was when the form was opened
  const write = async (value: Json) => {
    const edited = await post<Hook>(`hooks/${encodeURIComponent(hook.name)}`, changedBody(before, value as Asked));
    say(`${edited.name} ${edited.words}.`);
    onDone(hook.name);
  };
  return (
    <>
      <p class="muted">What waits is sent the new way. What it is about stays: for that, another hook is added.</p>
      <SchemaForm schema={editSchema(before)} preset={presetOf(before)} action="Save" send={write} />
    </>
  );
}
