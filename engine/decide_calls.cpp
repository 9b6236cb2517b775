#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/decide.hpp"
#include "engine/deciding.hpp"
#include "engine/expectations.hpp"

namespace cairn {

Status Deciding::operator()(const FinishChild& finish) {
  if (Status open = expect_open(state_, finish.step, 0); !open) return open;
  const Step& step = state_.steps.at(finish.step);
  if (step.child != finish.child)
    return refusal(Code::conflict, "Expected step " + std::to_string(step.id) + " to wait for run " +
                                       to_string(finish.child) + ", but it waits for " + to_string(step.child) + ".");
  if (!step.closing_label.empty())
    return refusal(Code::closed, "Expected run " + to_string(finish.child) + " to end once, but it has ended.");
  emit(step.id, ChildFinished{finish.child, finish.status, finish.reason, finish.output});
  return Done{};
}

void Deciding::fail_call(StepId step, std::string error, std::string message) {
  FailStep fail;
  fail.step = step;
  fail.failure = {std::move(error), std::move(message), false, {}};
  fail.started_at = state_.steps.at(step).opened_at;
  fail_attempt(step, fail);
}

void Deciding::start_child(StepId id, ChildStarted child) {
  const Step& step = state_.steps.at(id);
  const GraphRef graph = graphs_.current(child.graph);
  if (graph == nullptr) {
    decision_.lacks_graph = child.graph;
    return fail_call(id, "not_found", "Expected a known graph to call, but there is no graph " + child.graph + ".");
  }
  if (decision_.children.size() >= context_.children_max)
    return fail_call(id, "limit",
                     "Expected one decision to start at most " + std::to_string(context_.children_max) +
                         " runs more, but it calls for another.");
  Decision::Child started;
  StartRun start;
  start.run = child.child = plus(context_.id_base, static_cast<std::uint32_t>(decision_.children.size()));
  start.graph = child.graph;
  start.version = child.version = graph->version;
  Result<Json> input = resolved(state_, step.branch, call_of(state_, step)->with);
  if (!input) return fail_call(id, std::string(to_string(input.error().code)), input.error().message);
  start.input = *std::move(input);
  start.language = state_.language;
  start.options.autonomous = state_.options.autonomous;
  start.options.priority = state_.options.priority;
  start.parent = Parent{state_.id, id, state_.parent ? state_.parent->depth + 1 : 1};
  Context context = context_;
  context.id_base = plus(start.run, 1);
  context.children_max = context_.children_max - decision_.children.size() - 1;
  context.events_max =
      context_.events_max - std::min(context_.events_max, decision_.events.size() + events_of_children_);
  context.now_us = std::max(context_.now_us, state_.last_at);
  Decision decided;
  Deciding deciding(started.state, context, graphs_, decided, bytes_max_ - std::min(bytes_max_, bytes()));
  if (const Status may = deciding(start); !may)
    return fail_call(id, std::string(to_string(may.error().code)), may.error().message);
  deciding.follow_all();
  bytes_ += deciding.bytes();
  if (!decided.lacks_graph.empty()) decision_.lacks_graph = decided.lacks_graph;
  emit(id, std::move(child));
  events_of_children_ += decided.events.size();
  for (const Decision::Child& inner : decided.children) events_of_children_ += inner.events.size();
  started.events = std::move(decided.events);
  started.touched = std::move(decided.touched);
  if (auto notice = parent_notice(started.state))  // it ended as it began
    emit(id,
         ChildFinished{notice->command.child, notice->command.status, notice->command.reason, notice->command.output});
  decision_.children.push_back(std::move(started));
  for (Decision::Child& inner : decided.children) decision_.children.push_back(std::move(inner));
}

}  // namespace cairn
