#include "ops/traces/run_trace.hpp"

#include <algorithm>
#include <utility>

#include "engine/evolve.hpp"
#include "ops/traces/call_attributes.hpp"
#include "workers/models/chat_message.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn {
namespace {

Json parsed(const JsonText& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json() : value;
}

void fail(Span& span, const std::string& error, const std::string& says) {
  span.status = SpanStatus::error;
  span.status_says = cut_text(says);
  span.attributes.text("error.type", error.empty() ? "_OTHER" : error);
}

}  // namespace

RunTrace::RunTrace(const RunId& run, TraceOptions options, std::optional<std::string> caller,
                   std::function<void(const Span&)> take)
    : run_(run), options_(options), caller_(std::move(caller)), take_(std::move(take)) {
  state_.id = run;
}

Span RunTrace::new_span(std::string id, std::string parent, TimeUs start_us) const {
  Span span;
  span.trace = trace_;
  span.id = std::move(id);
  span.parent = std::move(parent);
  span.start_us = start_us;
  return span;
}

void RunTrace::emit(Span span, TimeUs end_us) const {
  span.end_us = std::max(end_us, span.start_us);
  take_(span);
}

std::string RunTrace::content(const std::string& text) const { return options_.with_contents ? cut_text(text) : ""; }

void RunTrace::add(const Event& event, const Graphs& graphs) {
  const StepId before = state_.last_step;
  const auto of = open_.find(event.step);
  const std::string from_node = of == open_.end() ? "" : of->second.node;
  touched_.clear();
  evolve(state_, event, graphs, touched_);
  if (event.seq == 1) trace_ = trace_id(run_, state_.tags);
  if (const auto* record = std::get_if<Record>(&event.body)) note_record(event, *record);
  if (const auto* failed = std::get_if<StepFailed>(&event.body)) note_failure(event, *failed);
  if (const auto* ending = std::get_if<RunEnding>(&event.body)) note_closed(ending->closed.steps, event.at_us);
  if (const auto* finished = std::get_if<RunFinished>(&event.body)) {
    note_closed(finished->closed.steps, event.at_us);
    output_ = finished->output;
  }
  if (event.step != 0 && find_step(state_, event.step) == nullptr) close_step(event);
  note_opened(before, event, from_node);
}

// --- steps ----------------------------------------------------------------------------------------------------------

// The map's step whose branch it lies in, else the run.
std::string RunTrace::span_above(const Step& step) const {
  for (BranchId at = state_.branches.at(step.branch).parent; at != 0;) {
    const Branch& branch = state_.branches.at(at);
    if (branch.step != 0) return step_span_id(run_, branch.step);
    at = branch.parent;
  }
  return run_span_id(run_);
}

void RunTrace::note_opened(StepId after, const Event& event, const std::string& from_node) {
  for (StepId id = after + 1; id <= state_.last_step; ++id) {
    const Step* step = find_step(state_, id);
    if (step == nullptr) continue;
    OpenStep open{new_span(step_span_id(run_, id), span_above(*step), event.at_us), state_.node(*step).name};
    SpanAttributes& attributes = open.span.attributes;
    if (step->goal >= 0) {
      const SubGoal& goal = goal_of(state_, *step);
      open.is_goal = true;
      open.span.name = "execute_tool " + goal.tool;
      attributes.text("gen_ai.operation.name", "execute_tool").text("gen_ai.tool.name", goal.tool);
      attributes.text("gen_ai.tool.call.id", goal.id);
      attributes.text_unless_empty("gen_ai.tool.call.arguments", content(goal.inputs.dump()));
      attributes.text("graph.node.id", goal.id).text("graph.node.parent_id", open.node);
    } else {
      open.span.name = open.node;
      attributes.text("graph.node.id", open.node).text_unless_empty("graph.node.parent_id", from_node);
    }
    attributes.number("cairn.step", id).text("cairn.node", open.node);
    open_.emplace(id, std::move(open));
  }
}

void RunTrace::note_failure(const Event& event, const StepFailed& failed) {
  const auto found = open_.find(event.step);
  if (found == open_.end() || found->second.span.events.size() >= span_events_max) return;
  SpanEvent& noted = found->second.span.events.emplace_back(SpanEvent{event.at_us, "exception"});
  noted.attributes.text("exception.type", failed.error).text("exception.message", cut_text(failed.message));
  noted.attributes.number("cairn.attempt", failed.attempt);
}

void RunTrace::close_step(const Event& event) {
  auto found = open_.extract(event.step);
  if (found.empty()) return;
  Span& span = found.mapped().span;
  if (const auto* done = std::get_if<StepSucceeded>(&event.body)) {
    span.attributes.text("cairn.label", done->label).number("cairn.attempts", done->attempt);
    if (done->cached_from != 0) span.attributes.number("cairn.reused_from", done->cached_from);
    span.attributes.text_unless_empty("cairn.patch", content(done->patch));
  } else if (const auto* failed = std::get_if<StepFailed>(&event.body)) {
    span.attributes.text_unless_empty("cairn.label", failed->label).number("cairn.attempts", failed->attempt);
    fail(span, failed->error, failed->message);
  } else if (const auto* goal = std::get_if<SubGoalClosed>(&event.body)) {
    span.attributes.number("cairn.attempts", goal->attempt);
    if (goal->status == GoalStatus::succeeded)
      span.attributes.text_unless_empty("gen_ai.tool.call.result", content(goal->outputs));
    else
      fail(span, goal->error, goal->message);
  }
  emit(std::move(span), event.at_us);
}

void RunTrace::note_closed(const std::vector<StepId>& steps, TimeUs at_us) {
  for (const StepId id : steps) {
    auto found = open_.extract(id);
    if (found.empty()) continue;
    found.mapped().span.attributes.flag("cairn.closed_by_end", true);
    emit(std::move(found.mapped().span), at_us);
  }
}

// --- calls ----------------------------------------------------------------------------------------------------------

void RunTrace::note_record(const Event& event, const Record& record) {
  if (record.kind != RecordKind::model_called && record.kind != RecordKind::tool_called) return;
  const Json fields = parsed(record.fields);
  if (!fields.is_object()) return;
  record.kind == RecordKind::model_called ? note_model_call(event, fields) : note_tool_call(event, fields);
}

// It began as long before its record as it says that it took, and not before its step.
Span RunTrace::call_span(const Event& event, const Json& fields) const {
  constexpr std::int64_t latency_ms_max = 31'536'000'000;  // a year
  const auto found = fields.find("latency_ms");
  const bool is_known = found != fields.end() && found->is_number_integer();
  const std::int64_t ms = is_known ? std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, latency_ms_max) : 0;
  const auto step = open_.find(event.step);
  const TimeUs earliest = step == open_.end() ? state_.started_at : step->second.span.start_us;
  const std::string parent = event.step == 0 ? run_span_id(run_) : step_span_id(run_, event.step);
  return new_span(event_span_id(run_, event.seq), parent, std::max(event.at_us - ms * 1'000, earliest));
}

void RunTrace::note_model_call(const Event& event, const Json& fields) {
  Span span = call_span(event, fields);
  span.kind = SpanKind::client;
  const std::string model = asked_model(fields);
  span.name = model.empty() ? "chat" : "chat " + model;
  add_model_call(span.attributes, fields);
  if (options_.with_contents) add_model_contents(span.attributes, fields);
  if (!fields.value("ok", Json()).is_boolean() || !fields["ok"].get<bool>())
    fail(span, text_at(fields, "error"), text_at(fields, "message"));
  emit(std::move(span), event.at_us);
}

// The step of a sub-goal is that call itself.
void RunTrace::note_tool_call(const Event& event, const Json& fields) {
  const auto step = open_.find(event.step);
  if (step != open_.end() && step->second.is_goal) return;
  Span span = call_span(event, fields);
  const std::string tool = text_at(fields, "tool");
  span.name = "execute_tool " + tool;
  span.attributes.text("gen_ai.operation.name", "execute_tool").text("gen_ai.tool.name", tool);
  if (!fields.value("ok", Json()).is_boolean() || !fields["ok"].get<bool>()) fail(span, "", "");
  emit(std::move(span), event.at_us);
}

// --- the run --------------------------------------------------------------------------------------------------------

void RunTrace::finish() {
  if (state_.seq == 0) return;
  for (auto& [id, open] : std::exchange(open_, {})) {
    if (const Step* step = find_step(state_, id); step != nullptr && step->failed_final)
      fail(open.span, step->error, step->message);
    emit(std::move(open.span), state_.last_at);
  }
  const std::optional<TraceParent> parent = parent_of_trace(state_.tags);
  Span span = new_span(run_span_id(run_), parent ? parent->span : "", state_.started_at);
  span.name = "invoke_workflow " + state_.graph->name;
  SpanAttributes& attributes = span.attributes;
  attributes.text("gen_ai.operation.name", "invoke_workflow").text("gen_ai.workflow.name", state_.graph->name);
  attributes.text("cairn.run", to_string(run_)).text("cairn.graph.version", state_.graph->version);
  attributes.text("cairn.status", std::string(to_string(state_.status)));
  attributes.text_unless_empty("cairn.reason", cut_text(state_.reason)).number("cairn.events", state_.seq);
  if (state_.parent) attributes.text("cairn.parent", to_string(state_.parent->run));
  if (state_.parent && caller_) {
    span.linked_trace = *caller_;
    span.linked_span = step_span_id(state_.parent->run, state_.parent->step);
  }
  attributes.text_unless_empty("cairn.input", content(state_.input));
  attributes.text_unless_empty("cairn.output", content(output_));
  if (state_.status == RunStatus::done) span.status = SpanStatus::ok;
  if (state_.status == RunStatus::failed || state_.status == RunStatus::aborted)
    fail(span, state_.cause ? state_.cause->error : std::string(to_string(state_.status)), state_.reason);
  emit(std::move(span), state_.last_at);
}

}  // namespace cairn
