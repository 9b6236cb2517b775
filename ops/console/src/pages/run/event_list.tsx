// The events of a run: as many rows as it has events, each read when it comes into view.
import { useMemo } from "preact/hooks";
import { signal } from "@preact/signals";
import { get } from "../../api/client";
import type { Event } from "../../api/types";
import { Rows } from "../../parts/rows";
import { Clock } from "../../parts/time";

const pageEvents = 200;

export function EventList({ run, count }: { run: string; count: number }) {
  const pages = useMemo(() => new Map<number, ReturnType<typeof signal<Event[] | undefined>>>(), [run]);
  const eventAt = (index: number): Event | undefined => {
    const page = Math.floor(index / pageEvents);
    let events = pages.get(page);
    const wanted = Math.min(pageEvents, count - page * pageEvents);
    if (events === undefined || (events.peek()?.length ?? pageEvents) < wanted) {
      const found = events ?? signal<Event[] | undefined>(undefined);
      events = found;
      pages.set(page, found);
      const query = { from: page * pageEvents + 1, limit: pageEvents, raw: true };
      void get<Event[]>(`runs/${run}/events`, query).then((read) => (found.value = read));
    }
    return events.value?.[index % pageEvents];
  };
  return (
    <Rows count={count} height={30} label="Events" class="events" row={(index) => {
      const event = eventAt(index);
      return (
        <div class="event" key={index}>
          <span class="number muted">{index + 1}</span>
          <span class="event-type">{event?.type ?? "…"}</span>
          <span class="when">{event === undefined ? "" : <Clock at={event.at} />}</span>
        </div>
      );
    }} />
  );
}
