// A schedule as a form: a new one, or an edit that is refused if another one came before it.
import { get, post } from "../../api/client";
import { useResource } from "../../api/resource";
import type { GraphListed, Json, Schedule } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form/form";
import { Read } from "../../parts/states";
import { tagsOf, tagsText } from "../../parts/tags";
import { say } from "../../shell/notices";

const overlaps = {
  skip: "Skip it while a run is open", buffer_one: "Let one wait", buffer_all: "Let all wait",
  cancel_other: "Cancel the open run", terminate_other: "End the open run at once", allow_all: "Start it as well",
};
export const overlapSchema = {
  title: "Overlap",
  oneOf: Object.entries(overlaps).map(([value, title]) => ({ const: value, title })),
};
const lines = { type: "string", maxLength: 4000 };

interface Asked {
  name?: string;
  graph: string;
  cron?: string;
  every?: number;
  zone?: string;
  input?: Json;
  tags?: string;
  exclude?: string;
  overlap?: string;
  catch_up?: number;
  jitter?: number;
  dst?: string;
}

function schemaOf(graphs: string[], isNew: boolean): Json {
  const name = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" };
  return {
    type: "object",
    required: isNew ? ["name", "graph"] : ["graph"],
    properties: {
      ...(isNew ? { name } : {}),
      graph: { enum: graphs },
      cron: { ...lines, title: "Cron lines", description: "A line each: minute, hour, day, month, day of week." },
      every: { type: "number", title: "Every so many seconds", minimum: 1 },
      zone: { type: "string", description: "As Europe/Berlin." },
      input: { type: "object", description: "The input of each run." },
      overlap: overlapSchema,
      exclude: { ...lines, title: "Not on", description: "A day or a range of days a line." },
      tags: { ...lines, description: "KEY=VALUE, a line each." },
      catch_up: { type: "number", title: "Catch up, in seconds", description: "What is later is missed.", minimum: 10 },
      jitter: { type: "number", title: "Jitter, in seconds", minimum: 0 },
      dst: { type: "string", title: "Clock changes", description: "first, second or both; next, skip or shift." },
    },
  };
}

function presetOf(schedule: Schedule | undefined): Json {
  if (schedule === undefined) return { zone: Intl.DateTimeFormat().resolvedOptions().timeZone, overlap: "skip" };
  return {
    graph: schedule.graph, cron: schedule.cron.join("\n"), zone: schedule.zone, input: schedule.input,
    every: schedule.every_ms === undefined ? undefined : schedule.every_ms / 1000, tags: tagsText(schedule.tags),
    exclude: schedule.exclude.join("\n"), overlap: schedule.overlap, catch_up: schedule.catch_up_ms / 1000,
    jitter: schedule.jitter_ms / 1000, dst: schedule.dst,
  };
}

const linesOf = (text = "") => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
const orNull = <T,>(value: T | undefined) => value ?? null;

// As the API has it; null takes a field away, and means the same as none where there was none.
function bodyOf(asked: Asked): Record<string, Json> {
  const ms = (seconds: number | undefined) => (seconds === undefined ? null : Math.round(seconds * 1000));
  return {
    graph: asked.graph, cron: linesOf(asked.cron), every_ms: ms(asked.every), zone: orNull(asked.zone),
    input: orNull(asked.input), tags: tagsOf(asked.tags ?? ""), exclude: linesOf(asked.exclude),
    overlap: orNull(asked.overlap), catch_up_ms: ms(asked.catch_up), jitter_ms: ms(asked.jitter),
    dst: orNull(asked.dst),
  };
}

interface Props {
  schedule?: Schedule; // none: a new one
  onClose: () => void;
  onDone: (name: string) => void;
}

export function ScheduleDialog({ schedule, onClose, onDone }: Props) {
  const graphs = useResource<GraphListed[]>("graphs", (signal) => get<GraphListed[]>("graphs", {}, signal));
  const write = async (value: Json) => {
    const asked = value as Asked;
    const name = schedule?.name ?? asked.name!;
    const path = schedule === undefined ? "schedules" : `schedules/${encodeURIComponent(name)}`;
    const written = await post<Schedule>(path, {
      ...bodyOf(asked), ...(schedule === undefined ? { name } : { revision: schedule.revision }),
    });
    say(`${name}: ${written.words}.`);
    onDone(name);
  };
  const namesOf = (found: GraphListed[]) => [...new Set(found.map((graph) => graph.name))].sort();
  return (
    <Dialog title={schedule === undefined ? "New schedule" : `Edit ${schedule.name}`} onClose={onClose}>
      <Read from={graphs}>
        {(found) => (
          <SchemaForm schema={schemaOf(namesOf(found), schedule === undefined)} preset={presetOf(schedule)}
            action={schedule === undefined ? "Add it" : "Save"} send={write} />
        )}
      </Read>
    </Dialog>
  );
}
