// A JSON value as a tree whose branches open and close; places that changed are marked, by their JSON pointers.
import { useSignal } from "@preact/signals";

export interface Marks {
  changed: Map<string, { a?: unknown; b?: unknown }>;
}

interface Props {
  value: unknown;
  name?: string | undefined;
  path?: string;
  depth?: number;
  marks?: Marks | undefined;
  open?: number; // levels that are open at first
}

const piece = (key: string) => "/" + key.replaceAll("~", "~0").replaceAll("/", "~1");
const textMax = 2_000;
const itemsMax = 200;

function Leaf({ value }: { value: unknown }) {
  const isWhole = useSignal(false);
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "null";
  const kind = value === null ? "null" : typeof value;
  if (text.length <= textMax || isWhole.value)
    return <bdi class={`leaf is-${kind}`}>{text === "" ? "\"\"" : text}</bdi>;
  return (
    <span>
      <bdi class={`leaf is-${kind}`}>{text.slice(0, textMax)}…</bdi>{" "}
      <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>
        all {text.length.toLocaleString()} characters
      </button>
    </span>
  );
}

function touches(marks: Marks | undefined, path: string): boolean {
  if (marks === undefined) return false;
  for (const changed of marks.changed.keys()) if (changed === path || changed.startsWith(path + "/")) return true;
  return false;
}

function Branch({ value, name, path = "", depth = 0, marks, open = 1 }: Props) {
  const isOpen = useSignal<boolean | undefined>(undefined);
  const limit = useSignal(itemsMax);
  const isMarked = touches(marks, path);
  const isShown = isOpen.value ?? (depth < open || (isMarked && depth < 6));
  const entries = Array.isArray(value)
    ? value.map((item, index): [string, unknown] => [String(index), item])
    : Object.entries(value as Record<string, unknown>);
  const count = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <li class={marks?.changed.has(path) ? "changed" : undefined}>
      <button type="button" class={`branch ${isMarked ? "touched" : ""}`} aria-expanded={isShown}
        onClick={() => (isOpen.value = !isShown)}>
        <span aria-hidden="true" class="twist">{isShown ? "▾" : "▸"}</span>
        {name !== undefined && <bdi class="key">{name}</bdi>} <span class="muted">{count}</span>
      </button>
      {isShown && (
        <ul>
          {entries.slice(0, limit.value).map(([key, item]) => (
            <Node key={key} value={item} name={key} path={path + piece(key)} depth={depth + 1} marks={marks}
              open={open} />
          ))}
          {entries.length > limit.value && (
            <li><button type="button" class="quiet" onClick={() => (limit.value += 10 * itemsMax)}>
              {(entries.length - limit.value).toLocaleString()} more
            </button></li>
          )}
        </ul>
      )}
    </li>
  );
}

function Node(props: Props) {
  const { value, name, path = "", marks } = props;
  if (typeof value === "object" && value !== null) return <Branch {...props} />;
  const change = marks?.changed.get(path);
  return (
    <li class={change === undefined ? "" : "changed"}>
      {name !== undefined && <bdi class="key">{name}</bdi>}{" "}
      {change?.a !== undefined && <del><Leaf value={change.a} /></del>} <Leaf value={value} />
    </li>
  );
}

export function JsonTree(props: Props) {
  const { value } = props;
  const limit = useSignal(itemsMax);
  const isOpenRoot = typeof value === "object" && value !== null && props.name === undefined;
  if (!isOpenRoot) return <ul class="tree"><Node {...props} /></ul>;
  const entries = Array.isArray(value)
    ? value.map((item, index): [string, unknown] => [String(index), item])
    : Object.entries(value as Record<string, unknown>);
  if (entries.length === 0) return <p class="muted">{Array.isArray(value) ? "An empty list." : "Nothing."}</p>;
  return (
    <ul class="tree">
      {entries.slice(0, limit.value).map(([key, item]) => (
        <Node key={key} value={item} name={key} path={(props.path ?? "") + piece(key)} depth={1} marks={props.marks}
          open={props.open ?? 1} />
      ))}
      {entries.length > limit.value && (
        <li><button type="button" class="quiet" onClick={() => (limit.value += 10 * itemsMax)}>
          {(entries.length - limit.value).toLocaleString()} more
        </button></li>
      )}
    </ul>
  );
}
