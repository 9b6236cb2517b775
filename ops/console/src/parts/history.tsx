// What is on record of something, the newest first, read again while it is looked at; older pages when asked for.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { get } from "../api/client";
import { useResource } from "../api/resource";
import { pushedOff } from "./pushed_off";
import { sayRefusal } from "../shell/notices";
import { Read } from "./states";

const pageNotes = 50;
const olderMax = 5000;

interface Props<N> {
  path: string; // of what it is the history of
  stamp: string; // it is read again when this changes
  numberOf: (note: N) => number; // one more with each note
  children: (notes: N[]) => ComponentChildren;
}

export function History<N>({ path, stamp, numberOf, children }: Props<N>) {
  const newest = useResource<N[]>(
    path, (signal) => get<N[]>(`${path}/history`, { limit: pageNotes }, signal), 5000);
  useEffect(() => newest.reload(), [stamp]);
  return (
    <section class="history" aria-label="History">
      <h2>History</h2>
      <Read from={newest}>
        {(notes) => <Notes path={path} newest={notes} numberOf={numberOf} show={children} />}
      </Read>
    </section>
  );
}

interface NotesProps<N> {
  path: string;
  newest: N[];
  numberOf: (note: N) => number;
  show: (notes: N[]) => ComponentChildren;
}

function Notes<N>({ path, newest, numberOf, show }: NotesProps<N>) {
  const older = useSignal<N[]>([]);
  const isOver = useSignal(newest.length < pageNotes);
  const before = useRef(newest);
  useLayoutEffect(() => {
    const pushed = pushedOff(before.current, newest, (note) => String(numberOf(note)));
    before.current = newest;
    if (pushed === undefined) [older.value, isOver.value] = [[], false]; // there may be others between them
    else if (pushed.length > 0) older.value = [...pushed, ...older.value];
    if (older.value.length > olderMax) [older.value, isOver.value] = [[], false];
  }, [newest]);
  const known = new Set(newest.map(numberOf));
  const notes = [...newest, ...older.value.filter((note) => !known.has(numberOf(note)))];
  const more = async () => {
    const before = numberOf(notes[notes.length - 1]!);
    const page = await get<N[]>(`${path}/history`, { limit: pageNotes, before });
    older.value = [...older.value, ...page];
    isOver.value = page.length < pageNotes;
  };
  return (
    <>
      {show(notes)}
      {!isOver.value && (
        <p class="more"><button type="button" onClick={() => void more().catch(sayRefusal)}>Older</button></p>
      )}
    </>
  );
}
