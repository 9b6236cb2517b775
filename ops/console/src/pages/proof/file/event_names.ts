// The names of event types by their numbers, which a history never uses again (engine/event_types.hpp). A test holds
// them against those of the API.
const events = [
  "run_started", "run_paused", "run_resumed", "run_reopened", "run_moved", "channels_edited", "run_finished",
  "step_succeeded", "step_failed", "signal_received", "timer_fired", "child_started", "child_finished",
  "question_asked", "question_answered", "question_expired", "sub_goal_opened", "sub_goal_rejected",
  "sub_goal_closed", "plan_created", "plan_revised", "task_decomposed", "budget_exhausted", "run_ending",
];
const firstEvent = 1;
const records = [
  "decision_proposed", "decision_rewritten", "decision_enforced", "decomposition_failed", "verification_recorded",
  "replan_decided", "contingency_matched", "loop_detected", "guardrail_blocked", "model_called", "tool_called",
];
const firstRecord = 101;

export const eventName = (type: number): string =>
  events[type - firstEvent] ?? records[type - firstRecord] ?? `type ${type}`;
