import type { Schedule } from "../../api/types";
import { Paused, shortId } from "../../parts/status";
import { Until } from "../../parts/time";
import { link } from "../../router";

export function ScheduleTable({ schedules, chosen }: { schedules: Schedule[]; chosen: number }) {
  return (
    <table class="list cards schedules">
      <thead>
        <tr>
          <th scope="col">Schedule</th><th scope="col">Times</th><th scope="col">Starts</th>
          <th scope="col">Next</th><th scope="col">Open now</th>
        </tr>
      </thead>
      <tbody>
        {schedules.map((schedule, index) => (
          <tr key={schedule.name} data-row={index} class={index === chosen ? "chosen" : undefined}>
            <td class="name">
              <a href={link(["schedules", schedule.name])}><bdi>{schedule.name}</bdi></a>
              {schedule.paused !== null && <Paused />}
            </td>
            <td class="words">{schedule.words}</td>
            <td data-label="Starts"><a href={link(["graph", schedule.graph])}><bdi>{schedule.graph}</bdi></a></td>
            <td data-label="Next"><Next schedule={schedule} /></td>
            <td data-label="Open now"><Open schedule={schedule} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Next({ schedule }: { schedule: Schedule }) {
  if (schedule.next_at !== null) return <Until at={schedule.next_at} />;
  if (schedule.fault !== undefined) return <span class="muted">{schedule.fault}</span>;
  return <span class="muted">{schedule.paused === null ? "never again" : "–"}</span>;
}

export function Open({ schedule }: { schedule: Schedule }) {
  const { open, waiting } = schedule;
  if (open.length === 0 && waiting.length === 0) return <span class="muted">none</span>;
  return (
    <span class="open-runs">
      {open.map(({ run }) => <a key={run} href={link(["run", run])} title={run}>{shortId(run)}</a>)}
      {waiting.length > 0 && <span class="muted">{waiting.length} waiting</span>}
    </span>
  );
}
