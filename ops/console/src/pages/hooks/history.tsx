// What happened to a hook, the newest first: each change with who made it.
import type { HookNote } from "../../api/types";
import { History } from "../../parts/history";
import { JsonTree } from "../../parts/json_tree";
import { Time } from "../../parts/time";

const marks: Record<HookNote["kind"], [string, string]> = {
  added: ["is-open", "●"], edited: ["is-open", "●"], removed: ["is-aborted", "⊘"], paused: ["is-paused", "Ⅱ"],
  resumed: ["is-running", "●"], disabled: ["is-failed", "✕"], tested: ["is-aborted", "○"], resent: ["is-open", "●"],
  skipped: ["is-aborted", "–"], parked: ["is-failed", "✕"], gap: ["is-failed", "✕"],
};

export function HookHistory({ path, stamp }: { path: string; stamp: string }) {
  return (
    <History<HookNote> path={path} stamp={stamp} numberOf={({ number }) => number}>
      {(notes) => <NoteTable notes={notes} />}
    </History>
  );
}

export function NoteTable({ notes }: { notes: HookNote[] }) {
  return (
    <table class="list cards notes">
      <caption class="hidden">What happened to the hook</caption>
      <thead>
        <tr><th scope="col">When</th><th scope="col">What</th><th scope="col">By</th><th scope="col">Why</th></tr>
      </thead>
      <tbody>{notes.map((note) => <Note key={note.number} note={note} />)}</tbody>
    </table>
  );
}

function Note({ note }: { note: HookNote }) {
  const [colour, mark] = marks[note.kind];
  return (
    <tr>
      <td data-label="When"><Time at={note.at} /></td>
      <td data-label="What">
        <span class={`status ${colour}`}><span aria-hidden="true">{mark}</span>{note.kind}</span>
      </td>
      <td data-label="By"><bdi>{note.actor}</bdi></td>
      <td class="wide">
        {note.says !== undefined && <bdi>{note.says}</bdi>}
        {note.definition !== undefined && (
          <details><summary>as it was then</summary><JsonTree value={note.definition} /></details>
        )}
      </td>
    </tr>
  );
}
