// The schedules: their times in words, what each starts, and when next; one of them with all that is on record of it.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { get, hasNoScope, may } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Schedule } from "../../api/types";
import { useKeys } from "../../keys";
import { useChosen } from "../../parts/chosen";
import { Empty, Read } from "../../parts/states";
import { amend, go, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { ScheduleDialog } from "./definition";
import { OneSchedule } from "./one_schedule";
import { ScheduleTable } from "./schedule_table";

export function Page() {
  const name = route.value.rest[0];
  return name === undefined ? <AllSchedules /> : <OneSchedule key={name} name={name} />;
}

function AllSchedules() {
  const schedules = useResource<Schedule[]>("schedules", (signal) => get<Schedule[]>("schedules", {}, signal), 5000);
  const word = route.value.query.get("name") ?? "";
  const isAdding = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", says: "Names with these letters", act: () => field.current?.focus() }]);
  useCommandLines(curlLine("schedules"), "cairn schedule list");
  return (
    <>
      <div class="page-head">
        <h1>Schedules</h1>
        {hasNoScope() && may("operate") && (
          <button type="button" onClick={() => (isAdding.value = true)}>New schedule…</button>
        )}
        <div class="page-filter">
          <input ref={field} type="text" aria-label="Names with these letters" placeholder="Name" value={word}
            spellcheck={false} autocomplete="off" onInput={(event) => amend({ name: event.currentTarget.value })} />
        </div>
      </div>
      <Read from={schedules}>
        {(all) => <List schedules={all.filter((one) => one.name.includes(word))} isFiltered={word !== ""} />}
      </Read>
      {isAdding.value && (
        <ScheduleDialog onClose={() => (isAdding.value = false)} onDone={(added) => go(["schedules", added])} />
      )}
    </>
  );
}

function List({ schedules, isFiltered }: { schedules: Schedule[]; isFiltered: boolean }) {
  const nameOf = (schedule: Schedule) => schedule.name;
  const open = (schedule: Schedule) => go(["schedules", schedule.name]);
  const chosen = useChosen({ rows: schedules, nameOf, noun: "schedule", open });
  if (schedules.length > 0) return <ScheduleTable schedules={schedules} chosen={chosen} />;
  if (isFiltered) return <Empty title="No schedule has these letters" />;
  return (
    <Empty title="No schedule is here">
      <p>A schedule starts runs of a graph at times:</p>
      <pre>cairn schedule add weekly --graph GRAPH --cron {quoted("0 9 * * MON")} --zone Europe/Berlin</pre>
    </Empty>
  );
}
