// What happened to a schedule, the newest first: each occurrence with its run or why it has none, each change with who
// made it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { ScheduleNote } from "../../api/types";
import { Read } from "../../parts/states";
import { shortId } from "../../parts/status";
import { localTime, Time } from "../../parts/time";
import { link } from "../../router";

const pageNotes = 50;

const marks: Record<ScheduleNote["kind"], [string, string]> = {
  started: ["is-done", "✓"], waiting: ["is-waiting", "◔"], skipped: ["is-aborted", "–"], missed: ["is-failed", "✕"],
  refused: ["is-failed", "✕"], added: ["is-open", "●"], edited: ["is-open", "●"], removed: ["is-aborted", "⊘"],
  paused: ["is-paused", "Ⅱ"], resumed: ["is-running", "●"],
};

// `stamp`: it is read again when this changes.
export function History({ path, stamp }: { path: string; stamp: string }) {
  const newest = useResource<ScheduleNote[]>(
    path, (signal) => get<ScheduleNote[]>(`${path}/history`, { limit: pageNotes }, signal), 5000);
  useEffect(() => newest.reload(), [stamp]);
  return (
    <section class="schedule-history" aria-label="History">
      <h2>History</h2>
      <Read from={newest}>{(notes) => <Notes path={path} newest={notes} />}</Read>
    </section>
  );
}

function Notes({ path, newest }: { path: string; newest: ScheduleNote[] }) {
  const older = useSignal<ScheduleNote[]>([]);
  const isOver = useSignal(newest.length < pageNotes);
  const known = new Set(newest.map((note) => note.number));
  const notes = [...newest, ...older.value.filter((note) => !known.has(note.number))];
  const more = async () => {
    const before = notes[notes.length - 1]!.number;
    const page = await get<ScheduleNote[]>(`${path}/history`, { limit: pageNotes, before });
    older.value = [...older.value, ...page];
    isOver.value = page.length < pageNotes;
  };
  return (
    <>
      <table class="list notes">
        <caption class="hidden">What happened to the schedule</caption>
        <thead>
          <tr>
            <th scope="col">When</th><th scope="col">Outcome</th><th scope="col">Occurrence</th>
            <th scope="col">Run</th><th scope="col">By</th><th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>{notes.map((note) => <Note key={note.number} note={note} />)}</tbody>
      </table>
      {!isOver.value && <p class="more"><button type="button" onClick={() => void more()}>Older</button></p>}
    </>
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
  if (note.count === undefined || note.count <= 1) return <time dateTime={note.at}>{localTime(note.at)}</time>;
  const span = `${note.at} to ${note.until ?? ""}`;
  return <span title={span}>{note.count.toLocaleString()} from {localTime(note.at)}</span>;
}
