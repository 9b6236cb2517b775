// An event in words: what happened, and to what.
import type { Event } from "../../api/types";

export function excerpt(value: unknown, length = 160): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  const line = text.slice(0, length + 1).replaceAll(/\s+/g, " ");
  return line.length > length ? line.slice(0, length) + "…" : line;
}

const list = (names: readonly string[]) => names.join(", ");
const keysOf = (patch: Record<string, unknown>) => list(Object.keys(patch));

function seconds(ms: number | undefined): string {
  if (ms === undefined) return "";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

const because = ({ reason }: { reason?: string | undefined }) => (reason === undefined ? "" : `: ${reason}`);

function runWords(event: Event): string | undefined {
  switch (event.type) {
    case "run_started":
      return event.forked_from === undefined
        ? `graph ${event.graph} with ${excerpt(event.input)}`
        : `graph ${event.graph}, forked from event ${event.forked_from.seq} of ${event.forked_from.run}` +
          because(event);
    case "run_paused":
    case "run_resumed":
    case "run_reopened":
      return event.reason ?? "";
    case "run_moved":
      return `to version ${event.to_version.slice(0, 12)}${because(event)}`;
    case "channels_edited":
      return `${keysOf(event.patch)} by hand`;
    case "run_finished":
      return event.reason === "" ? event.status : `${event.status}: ${event.reason}`;
    case "signal_received":
      return `${event.name}: ${excerpt(event.value)}`;
    case "child_started":
      return `${event.graph} as ${event.child}`;
    case "child_finished":
      return `${event.child}: ${event.status}${event.reason === "" ? "" : `, ${event.reason}`}`;
    case "budget_exhausted":
      return `${event.name}: ${event.used} of ${event.cap}`;
    default:
      return undefined;
  }
}

function stepWords(event: Event): string | undefined {
  switch (event.type) {
    case "step_succeeded": {
      const wrote = Object.keys(event.patch).length === 0 ? "" : `, wrote ${keysOf(event.patch)}`;
      const to = event.next.length === 0 ? "" : ` → ${list(event.next)}`;
      const cached = event.cached_from === undefined ? "" : ", from the cache";
      return `${event.node} left by ${event.label}${to}${wrote}${cached}`;
    }
    case "step_failed":
      return `${event.node}, attempt ${event.attempt}: ${event.error}: ${event.message}`;
    case "question_asked":
      return `${event.question}: ${excerpt(event.prompt)}`;
    case "question_answered":
      return `${event.question}: ${excerpt(event.value)}, by ${event.by}`;
    case "model_called":
      return `${event.model ?? "a model"}, ${event.tokens_in ?? 0} tokens in, ${event.tokens_out ?? 0} out, ` +
        `${seconds(event.latency_ms)}${event.ok === false ? `: ${event.message ?? event.error ?? "failed"}` : ""}`;
    case "tool_called":
      return `${event.tool ?? ""}, ${seconds(event.latency_ms)}${event.ok === false ? ", failed" : ""}`;
    default:
      return undefined;
  }
}

function planWords(event: Event): string | undefined {
  switch (event.type) {
    case "plan_created":
      return event.goal;
    case "plan_revised":
      return `version ${event.plan_version}: ${event.cause}`;
    case "sub_goal_opened":
      return `${event.sub_goal}${event.tool === undefined ? "" : ` by ${event.tool}`}${
        event.after.length === 0 ? "" : ` after ${list(event.after)}`}`;
    case "sub_goal_closed":
      return `${event.sub_goal} ${event.status}${event.message === undefined ? "" : `: ${event.message}`}`;
    case "sub_goal_rejected":
      return `${event.sub_goal}: ${event.reason}`;
    case "task_decomposed":
      return `${event.target} into ${list(event.children.map((child) => child.id))}`;
    default:
      return undefined;
  }
}

// What a planner meant to do, which rule made something else of it, and what was done.
function decisionWords(event: Event): string | undefined {
  switch (event.type) {
    case "decision_proposed":
      return `${event.action ?? ""} ${excerpt(event.target)}${event.reason ? `: ${event.reason}` : ""}`;
    case "decision_rewritten":
      return `${event.rule ?? "a rule"}: ${excerpt(event.from, 80)} became ${excerpt(event.to, 80)}`;
    case "decision_enforced":
      return `${event.action ?? ""} ${excerpt(event.target ?? event.trail)}`;
    case "verification_recorded":
      return `${excerpt(event.target, 60)} ${event.ok ? "holds" : "does not hold"}` +
        (event.says ? `: ${event.says}` : "");
    case "replan_decided":
      return `${event.action ?? ""}${event.reason ? `: ${event.reason}` : ""}`;
    default:
      return undefined;
  }
}

const envelope = new Set(["run", "seq", "type", "at", "step", "actor"]);

// Anything else: its own fields.
function fieldsOf(event: Event): string {
  const fields = Object.entries(event).filter(([key]) => !envelope.has(key));
  return fields.map(([key, value]) => `${key} ${excerpt(value, 60)}`).join(", ");
}

export function wordsOf(event: Event): string {
  return runWords(event) ?? stepWords(event) ?? planWords(event) ?? decisionWords(event) ?? fieldsOf(event);
}

export const typeWords = (type: string) => type.replaceAll("_", " ");

// A worker's number says nothing to a reader of a list.
export function actorOf(event: Event): string {
  return event.actor.startsWith("worker:") ? "" : event.actor;
}
