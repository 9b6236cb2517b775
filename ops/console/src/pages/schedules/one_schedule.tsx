// One schedule: its next times, what happened to it, why it did or did not run, and what can be done with it.
import { useSignal } from "@preact/signals";
import { get, hasNoScope, may } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Schedule, ScheduleTime } from "../../api/types";
import { JsonTree } from "../../parts/json_tree";
import { Read } from "../../parts/states";
import { Paused } from "../../parts/status";
import { duration, Time, Until } from "../../parts/time";
import { link } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { ActionDialog, actions, type ActionName } from "./actions";
import { ScheduleDialog } from "./definition";
import { ScheduleHistory } from "./history";
import { Open } from "./schedule_table";
import { Why } from "./why";

export function OneSchedule({ name }: { name: string }) {
  const path = `schedules/${encodeURIComponent(name)}`;
  const schedule = useResource<Schedule>("schedule", (signal) => get<Schedule>(path, {}, signal), 2000);
  useCommandLines(curlLine(path), `cairn schedule show ${quoted(name)}`);
  return (
    <>
      {schedule.data.value === undefined && <h1><bdi>{name}</bdi></h1>}
      <Read from={schedule}>{(found) => <Found schedule={found} path={path} onChange={schedule.reload} />}</Read>
    </>
  );
}

interface FoundProps {
  schedule: Schedule;
  path: string;
  onChange: () => void;
}

function Found({ schedule, path, onChange }: FoundProps) {
  const action = useSignal<Offered | undefined>(undefined);
  const close = () => (action.value = undefined);
  const done = () => {
    close();
    onChange();
  };
  return (
    <>
      <div class="page-head">
        <h1><bdi>{schedule.name}</bdi></h1>
        {schedule.paused !== null && <Paused />}
        <span class="muted">revision {schedule.revision}</span>
        <a class="graph-runs" href={link(["runs"], { where: `tag.schedule=${schedule.name}` })}>Runs</a>
      </div>
      <p class="schedule-words">{schedule.words}: starts <a href={link(["graph", schedule.graph])}>
        <bdi>{schedule.graph}</bdi></a>.</p>
      {schedule.paused !== null && (
        <p class="schedule-paused">Paused <Time at={schedule.paused.at} /> by <bdi>{schedule.paused.by}</bdi>
          {schedule.paused.reason !== "" && <>: <bdi>{schedule.paused.reason}</bdi></>}</p>
      )}
      {hasNoScope() && may("operate") && (
        <div class="buttons schedule-actions">
          {offered(schedule).map((name) => (
            <button key={name} type="button" onClick={() => (action.value = name)}>
              {name === "edit" ? "Edit…" : actions[name].button}
            </button>
          ))}
        </div>
      )}
      <div class="schedule-parts">
        <NextTimes path={path} schedule={schedule} />
        <Definition schedule={schedule} />
      </div>
      <Why path={path} />
      <ScheduleHistory path={path} stamp={`${schedule.revision}/${schedule.next_at}/${schedule.open.length}`} />
      {action.value === "edit" && <ScheduleDialog schedule={schedule} onClose={close} onDone={done} />}
      {action.value !== undefined && action.value !== "edit" && (
        <ActionDialog name={action.value} schedule={schedule} onClose={close} onDone={done} />
      )}
    </>
  );
}

type Offered = ActionName | "edit";

function offered(schedule: Schedule): Offered[] {
  return ["trigger", schedule.paused === null ? "pause" : "resume", "edit", "backfill", "remove"];
}

function NextTimes({ path, schedule }: { path: string; schedule: Schedule }) {
  const key = `${schedule.revision}/${schedule.next_at}`;
  const times = useResource<ScheduleTime[]>(key, (signal) => get<ScheduleTime[]>(`${path}/next`, {}, signal));
  return (
    <section class="card" aria-label="Next times">
      <h2>Next times</h2>
      {schedule.paused !== null && <p class="muted">None of them starts a run while it is paused.</p>}
      <Read from={times}>
        {(found) => found.length === 0 ? <p class="muted">There is none.</p> : (
          <table class="list next-times">
            <caption class="hidden">The next ten times</caption>
            <thead>
              <tr><th scope="col">In its zone</th><th scope="col">From now</th><th scope="col">UTC</th></tr>
            </thead>
            <tbody>
              {found.map((time) => (
                <tr key={time.at}>
                  <td>{time.local} <span class="muted">{time.zone}</span></td>
                  <td><Until at={time.fires_at ?? time.at} /></td>
                  <td class="muted">{time.at}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
    </section>
  );
}

function Definition({ schedule }: { schedule: Schedule }) {
  const rows: [string, string][] = [
    ["Cron", schedule.cron.join("  ·  ")],
    ["Every", schedule.every_ms === undefined ? "" : `${schedule.every_ms / 1000} s`],
    ["Zone", schedule.zone],
    ["Not on", schedule.exclude.join(", ")],
    ["Overlap", schedule.overlap.replaceAll("_", " ")],
    ["Catch up", duration(schedule.catch_up_ms).replace(/ 0 \w+$/, "")],
    ["Jitter", schedule.jitter_ms === 0 ? "" : `${schedule.jitter_ms / 1000} s`],
    ["Tags", Object.entries(schedule.tags).map(([key, value]) => `${key}=${value}`).join(", ")],
  ];
  return (
    <section class="card" aria-label="Definition">
      <h2>Definition</h2>
      <dl class="abilities">
        {rows.filter(([, text]) => text !== "").map(([title, text]) => (
          <div key={title}><dt>{title}</dt><dd><bdi>{text}</bdi></dd></div>
        ))}
        <div><dt>Open now</dt><dd><Open schedule={schedule} /></dd></div>
        <div><dt>Input</dt><dd><JsonTree value={schedule.input} /></dd></div>
      </dl>
    </section>
  );
}
