// What can be done with a schedule besides an edit: each is asked for in a dialog and says what came of it.
import { address, post, send } from "../../api/client";
import type { Json, Schedule, ScheduleOutcomes } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form/form";
import { Sure } from "../../parts/sure";
import { go } from "../../router";
import { curlLine, quoted } from "../../shell/command_lines";
import { say } from "../../shell/notices";
import { overlapSchema } from "./definition";

export type ActionName = "trigger" | "pause" | "resume" | "backfill" | "remove";

interface Action {
  button: string;
  title: string;
  says: (schedule: Schedule) => string;
  fields?: Record<string, Json>;
  required?: string[];
}

const when = { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}" };

export const actions: Record<ActionName, Action> = {
  trigger: {
    button: "Run now…", title: "Run now",
    says: ({ graph }) => `An occurrence of now starts ${graph}, as the overlap allows.`,
    fields: { overlap: overlapSchema },
  },
  pause: {
    button: "Pause…", title: "Pause",
    says: () => "No occurrence starts a run until it is resumed. Open runs go on.",
    fields: { reason: { type: "string", maxLength: 500 } },
  },
  resume: {
    button: "Resume…", title: "Resume",
    says: () => "The next time starts a run. What has passed is missed, and on record; backfill runs it later.",
  },
  backfill: {
    button: "Backfill…", title: "Backfill",
    says: () => "Times of the past that have no run start one each.",
    fields: {
      from: { ...when, title: "From", description: "A day or a time: 2026-11-23 or 2026-11-23T09:00:00Z." },
      until: { ...when, title: "Until", description: "Without: now." },
      overlap: overlapSchema,
    },
    required: ["from"],
  },
  remove: {
    button: "Remove…", title: "Remove",
    says: () => "It starts nothing more. Its runs and what is on record of it stay.",
  },
};

interface Props {
  name: ActionName;
  schedule: Schedule;
  onClose: () => void;
  onDone: () => void;
}

export function ActionDialog({ name, schedule, onClose, onDone }: Props) {
  const { title, says, fields, required } = actions[name];
  const path = `schedules/${encodeURIComponent(schedule.name)}`;
  const act = async (value: Json) => {
    if (name === "remove") {
      await send(address(path), { method: "DELETE" });
      say(`The schedule ${schedule.name} is removed.`);
      go(["schedules"]);
      return;
    }
    const answer = await post<ScheduleOutcomes | Schedule>(`${path}/${name}`, fields === undefined ? undefined : value);
    say("notes" in answer ? outcome(answer) : `The schedule ${schedule.name} is ${name}d.`);
    onDone();
  };
  const commands = name === "remove" ? `cairn schedule remove ${quoted(schedule.name)}`
    : `cairn schedule ${name} ${quoted(schedule.name)}${name === "backfill" ? " --from 2026-11-23" : ""}\n` +
      curlLine(`${path}/${name}`, {}, name === "backfill" ? { from: "2026-11-23" } : {});
  return (
    <Dialog title={`${title}: ${schedule.name}`} onClose={onClose}>
      <p>{says(schedule)}</p>
      {fields === undefined ? <Sure title={title} act={() => act(undefined)} /> : (
        <SchemaForm schema={{ type: "object", properties: fields, required: required ?? [] }} action={title}
          send={act} />
      )}
      <pre class="as-commands" tabIndex={0} aria-label="As commands">{commands}</pre>
    </Dialog>
  );
}

function outcome({ notes }: ScheduleOutcomes): string {
  const count = (kind: string) =>
    notes.filter((note) => note.kind === kind).reduce((sum, note) => sum + (note.count ?? 1), 0);
  const kinds = [...new Set(notes.map((note) => note.kind))];
  const counts = kinds.map((kind) => `${count(kind)} ${kind}`).join(", ");
  const reason = notes.find((note) => note.kind !== "started")?.says;
  return `${counts === "" ? "Nothing is to be started" : counts}.${reason === undefined ? "" : ` ${reason}`}`;
}
