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

interface Numbered {
  number: number;
}

interface Props<N> {
  path: string; // of what it is the history of
  stamp: string; // it is read again when this changes
  children: (notes: N[]) => ComponentChildren;
}

export function History<N extends Numbered>({ path, stamp, children }: Props<N>) {
  const newest = useResource<N[]>(
    path, (signal) => get<N[]>(`${path}/history`, { limit: pageNotes }, signal), 5000);
  useEffect(() => newest.reload(), [stamp]);
  return (
    <section class="history" aria-label="History">
      <h2>History</h2>
      <Read from={newest}>{(notes) => <Notes path={path} newest={notes} show={children} />}</Read>
    </section>
  );
}

interface NotesProps<N> {
  path: string;
  newest: N[];
  show: (notes: N[]) => ComponentChildren;
}

function Notes<N extends Numbered>({ path, newest, show }: NotesProps<N>) {
  const older = useSignal<N[]>([]);
  const isOver = useSignal(newest.length < pageNotes);
  const before = useRef(newest);
  useLayoutEffect(() => {
    const pushed = pushedOff(before.current, newest, ({ number }) => String(number));
    before.current = newest;
    if (pushed === undefined) [older.value, isOver.value] = [[], false]; // there may be others between them
    else if (pushed.length > 0) older.value = [...pushed, ...older.value];
    if (older.value.length > olderMax) [older.value, isOver.value] = [[], false];
  }, [newest]);
  const known = new Set(newest.map((note) => note.number));
  const notes = [...newest, ...older.value.filter((note) => !known.has(note.number))];
  const more = async () => {
    const before = notes[notes.length - 1]!.number;
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
