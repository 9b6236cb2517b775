// The keys that may stand where the text is being written, from the JSON Schema of graphs; each is put in by a click.
import type { RefObject } from "preact";
import { hereIn, scanned, type Here } from "../../parts/code/json_scan";
import { keysFor, meaningOf } from "./graph_schema";

interface Props {
  text: string;
  at: number;
  place: RefObject<HTMLTextAreaElement | null>;
}

const isSamePath = (a: string[], b: string[]) => a.length === b.length && a.every((name, at) => name === b[at]);

// The key as it is put in: after a comma where a member stands before it.
function put(area: HTMLTextAreaElement, at: number, inserted: string, from = at): void {
  area.focus();
  area.setSelectionRange(from, at);
  document.execCommand("insertText", false, inserted);
}

function keyText(text: string, at: number, key: string): string {
  const before = text.slice(0, at).trimEnd();
  const after = text.slice(at).trimStart();
  const lead = before.endsWith("{") || before.endsWith(",") || before === "" ? "" : ", ";
  return `${lead}${JSON.stringify(key)}: ${after.startsWith('"') ? ", " : ""}`;
}

function words(here: Here): string {
  const path = here.key === "" || here.isAtKey ? here.path : [...here.path, here.key];
  return path.length === 0 ? "the graph" : path.join(" › ");
}

export function KeysHere({ text, at, place }: Props) {
  const here = hereIn(text, at);
  const { strings } = scanned(text);
  const present = new Set(strings.filter((one) => one.isKey && isSamePath(one.path, here.path)).map((one) => one.text));
  const offered = here.isObject ? keysFor(here.path, present).slice(0, 40) : [];
  const meant = meaningOf(here);
  return (
    <section class="keys-here" aria-label="Here">
      <h2>Here <span class="muted"><bdi>{words(here)}</bdi></span></h2>
      {meant.says !== "" && here.path.length + here.key.length > 0 && <p class="muted">{meant.says}</p>}
      {meant.words.length > 0 && (
        <p class="offered" role="group" aria-label="Values">
          {meant.words.map((word) => (
            <button type="button" key={word} class="chip" onClick={() => put(place.current!, at, JSON.stringify(word))}>
              {word}
            </button>
          ))}
        </p>
      )}
      {offered.length > 0 && (
        <dl class="offered" aria-label="Keys">
          {offered.map(({ key, says }) => (
            <div key={key}>
              <dt><button type="button" class="chip" onClick={() => put(place.current!, at, keyText(text, at, key))}>
                {key}
              </button></dt>
              <dd class="muted">{says}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
