// The fields of each event as they stand in its payload, in the order they are written: one list for writing and for
// reading. A shipped list never changes its meaning; a field may only be added where its absence means what was true
// before (`unless_empty`, `present`, `word_if`), everything else is a new version (versions.md). Used by the codec
// only. Pure functions, safe from any thread.
#pragma once

#include "engine/event.hpp"

namespace cairn {

void event_fields(auto& field, Is<Options> auto& e) {
  field.word_if("autonomy", "full", e.autonomous);
  field.unless_empty("priority", e.priority);
  field.unless_empty("budgets", e.budgets);
  field.word_if("answers", "recorded", e.recorded);
}
void event_fields(auto& field, Is<Parent> auto& e) {
  field("run", e.run);
  field("step", e.step);
  field("depth", e.depth);
}
void event_fields(auto& field, Is<Origin> auto& e) {
  field("run", e.run);
  field("seq", e.seq);
  field("chain_hash", e.chain_hash);
  field.json("state", e.state);
}
void event_fields(auto& field, Is<Closed> auto& e) {
  field("steps", e.steps);
  field("questions", e.questions);
  field("children", e.children);
}
void event_fields(auto& field, Is<PlanChild> auto& e) {
  field("id", e.id);
  field("title", e.title);
  field("after", e.after);
  field.json("context", e.context);
}

void event_fields(auto& field, Is<CauseOfFailure> auto& e) {
  field("error", e.error);
  field("message", e.message);
  field("node", e.node);
  field("step", e.step);
  field("attempt", e.attempt);
}

void event_fields(auto& field, Is<RunStarted> auto& e) {
  field("graph", e.graph);
  field("version", e.version);
  field.raw("input", e.input);
  field("options", e.options);
  field("tags", e.tags);
  field.present("parent", e.parent);
  field.present("continues", e.continues);
  field.raw_if("history", e.history);
  field.present("forked_from", e.forked_from);
  field("language", e.language);  // since version 2
  field.unless_empty("key", e.key);
  field.unless_empty("reason", e.reason);
}
void event_fields(auto& field, Is<RunPaused> auto& e) { field.unless_empty("reason", e.reason); }
void event_fields(auto& field, Is<RunResumed> auto& e) { field.unless_empty("reason", e.reason); }
void event_fields(auto& field, Is<RunReopened> auto& e) {
  field.unless_empty("reason", e.reason);
  field.word_if("opens", "again", e.opens_again);
}
void event_fields(auto& field, Is<RunMoved> auto& e) {
  field("to_version", e.to_version);
  field.unless_empty("reason", e.reason);
}
void event_fields(auto& field, Is<ChannelsEdited> auto& e) { field.raw("patch", e.patch); }
void event_fields(auto& field, Is<RunFinished> auto& e) {
  field("status", e.status);
  field("reason", e.reason);
  field.raw("output", e.output);
  field("closed", e.closed);
  field.present("cause", e.cause);
}
void event_fields(auto& field, Is<RunEnding> auto& e) {
  field("status", e.status);
  field("reason", e.reason);
  field.raw("output", e.output);
  field("closed", e.closed);
  field.present("cause", e.cause);
  field("next", e.next);
}
void event_fields(auto& field, Is<StepSucceeded> auto& e) {
  field("node", e.node);
  field("label", e.label);
  field.raw("patch", e.patch);
  field("next", e.next);
  field("attempt", e.attempt);
  field("worker", e.worker);
  field("started_at", e.started_at);
  field.unless_empty("took", e.took);
  field.unless_empty("cached_from", e.cached_from);
  field.unless_empty("cache_key", e.cache_key);
  field.unless_empty("handler_version", e.handler_version);
}
void event_fields(auto& field, Is<StepFailed> auto& e) {
  field("node", e.node);
  field("attempt", e.attempt);
  field("error", e.error);
  field("message", e.message);
  field("worker", e.worker);
  field("started_at", e.started_at);
  field.present("retry_at", e.retry_at);
  field.unless_empty("label", e.label);
  field.unless_empty("next", e.next);
  field.unless_empty("refused", e.refused);
}
void event_fields(auto& field, Is<SignalReceived> auto& e) {
  field("name", e.name);
  field.json("value", e.value);
  field("id", e.id);
}
void event_fields(auto&, Is<TimerFired> auto&) {}
void event_fields(auto& field, Is<ChildStarted> auto& e) {
  field("child", e.child);
  field("graph", e.graph);
  field("version", e.version);
}
void event_fields(auto& field, Is<ChildFinished> auto& e) {
  field("child", e.child);
  field("status", e.status);
  field("reason", e.reason);
  field.json("output", e.output);
}
void event_fields(auto& field, Is<QuestionAsked> auto& e) {
  field("question", e.question);
  field("kind", e.kind);
  field.json("prompt", e.prompt);
  field.json("schema", e.schema);
  field.json_if("default", e.fallback);
  field.present("expires_at", e.expires_at);
}
void event_fields(auto& field, Is<QuestionAnswered> auto& e) {
  field("question", e.question);
  field.json("value", e.value);
  field("by", e.by);
}
void event_fields(auto& field, Is<QuestionExpired> auto& e) { field("question", e.question); }
void event_fields(auto& field, Is<SubGoalOpened> auto& e) {
  field("sub_goal", e.sub_goal);
  field.unless_empty("tool", e.tool);
  field.unless_empty("title", e.title);
  field.unless_empty("parent", e.parent);
  field.json("inputs", e.inputs);
  field("after", e.after);
  field.unless_empty("queue", e.queue);
}
void event_fields(auto& field, Is<SubGoalRejected> auto& e) {
  field("sub_goal", e.sub_goal);
  field("tool", e.tool);
  field("reason", e.reason);
  field("unmet", e.unmet);
}
void event_fields(auto& field, Is<SubGoalClosed> auto& e) {
  field("sub_goal", e.sub_goal);
  field("status", e.status);
  field.raw("outputs", e.outputs);
  field.unless_empty("error", e.error);
  field.unless_empty("message", e.message);
  field("attempt", e.attempt);
  field("worker", e.worker);
  field("started_at", e.started_at);
  field.unless_empty("reused_from", e.reused_from);
  field.unless_empty("refused", e.refused);
}
void event_fields(auto& field, Is<PlanCreated> auto& e) {
  field("version", e.version);
  field("goal", e.goal);
  field("children", e.children);
}
void event_fields(auto& field, Is<PlanRevised> auto& e) {
  field("version", e.version);
  field("cause", e.cause);
  field.json("changes", e.changes);
}
void event_fields(auto& field, Is<TaskDecomposed> auto& e) {
  field("target", e.target);
  field("mode", e.mode);
  field("depth", e.depth);
  field("children", e.children);
  field("dropped", e.dropped);
  field("truncated", e.truncated);
}
void event_fields(auto& field, Is<BudgetExhausted> auto& e) {
  field("name", e.name);
  field("cap", e.cap);
  field("used", e.used);
}

}  // namespace cairn
