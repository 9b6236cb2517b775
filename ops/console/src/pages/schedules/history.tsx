// What happened to a schedule, the newest first: each occurrence with its run or why it has none, each change with who
// made it.
import type { ScheduleNote } from "../../api/types";
import { History } from "../../parts/history";
import { shortId } from "../../parts/status";
import { Exact, localTime, Time } from "../../parts/time";
import { link } from "../../router";

const marks: Record<ScheduleNote["kind"], [string, string]> = {
  started: ["is-done", "✓"], waiting: ["is-waiting", "◔"], skipped: ["is-aborted", "–"], missed: ["is-failed", "✕"],
  refused: ["is-failed", "✕"], added: ["is-open", "●"], edited: ["is-open", "●"], removed: ["is-aborted", "⊘"],
  paused: ["is-paused", "Ⅱ"], resumed: ["is-running", "●"],
};

export function ScheduleHistory({ path, stamp }: { path: string; stamp: string }) {
  return (
    <History<ScheduleNote> path={path} stamp={stamp} numberOf={({ number }) => number}>
      {(notes) => (
        <table class="list cards notes">
          <caption class="hidden">What happened to the schedule</caption>
          <thead>
            <tr>
              <th scope="col">When</th><th scope="col">Outcome</th><th scope="col">Occurrence</th>
              <th scope="col">Run</th><th scope="col">By</th><th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>{notes.map((note) => <Note key={note.number} note={note} />)}</tbody>
        </table>
      )}
    </History>
  );
}

function Note({ note }: { note: ScheduleNote }) {
  const [colour, mark] = marks[note.kind];
  return (
    <tr>
      <td data-label="When"><Time at={note.recorded_at} /></td>
      <td><span class={`status ${colour}`}><span aria-hidden="true">{mark}</span>{note.kind}</span></td>
      <td data-label="Occurrence"><Occurrence note={note} /></td>
      <td data-label="Run">{note.run === undefined ? <span class="muted">–</span> :
        <a href={link(["run", note.run])} title={note.run}>{shortId(note.run)}</a>}</td>
      <td data-label="By"><bdi>{note.actor}</bdi></td>
      <td class="wide"><bdi>{note.says ?? ""}</bdi></td>
    </tr>
  );
}

function Occurrence({ note }: { note: ScheduleNote }) {
  if (note.at === undefined) return <span class="muted">–</span>;
  if (note.count === undefined || note.count <= 1) return <Exact at={note.at} />;
  const span = `${note.at} to ${note.until ?? ""}`;
  return <span title={span}>{note.count.toLocaleString()} from {localTime(note.at)}</span>;
}
