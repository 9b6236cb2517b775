#include "workers/planners/plan_decomposer/level.hpp"

#include <algorithm>
#include <utility>

#include "workers/handlers/step_fields.hpp"

namespace cairn::decomposing {
namespace {

struct Batch {
  Json targets;   // as the map went over them
  Json replies;   // of the map: what expand left, null where it failed
  Json failures;  // of the map
  std::size_t at = 0;
};

Batch batch_of(const StepInput& input) {
  return {channel(input, "batch", Json::array()), channel(input, "replies", Json::array()),
          channel(input, "reply_failures", Json::array()), static_cast<std::size_t>(count(input, "batch_at"))};
}

// All calls of a batch count when it comes back, whether or not its replies are used.
void count_calls(const Batch& batch, const Assignment& assignment, Json& patch) {
  std::int64_t calls = static_cast<std::int64_t>(batch.failures.size()) * (assignment.settings.retry_limit + 1);
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  double cost = 0;
  for (const Json& reply : batch.replies) {
    if (!reply.is_object()) continue;
    calls += reply.at("llm_calls").get<std::int64_t>();
    tokens_in += reply.at("tokens_in").get<std::int64_t>();
    tokens_out += reply.at("tokens_out").get<std::int64_t>();
    cost += reply.at("cost").get<double>();
  }
  patch["llm_calls"] = calls;
  patch["tokens_in"] = tokens_in;
  patch["tokens_out"] = tokens_out;
  patch["cost"] = cost;
}

Outcome reply_of_batch(const Batch& batch, const Assignment& assignment) {
  Outcome outcome{"skip", {{"target", batch.targets[batch.at]}, {"batch_at", batch.at + 1}}, {}};
  if (batch.at == 0) count_calls(batch, assignment, outcome.patch);
  const Json reply = batch.at < batch.replies.size() ? batch.replies[batch.at] : Json();
  if (reply.is_object()) {
    outcome.label = "write";
    outcome.patch["reply"] = reply.at("reply");
    outcome.patch["source"] = reply.at("source");
    return outcome;
  }
  Json failed = {{"node", "expand"}, {"error", "lost"}, {"message", "Expected a reply, but there is none."}};
  for (const Json& failure : batch.failures) {
    if (failure.at("index") == batch.at) failed.update(failure);
  }
  failed.erase("index");
  outcome.patch["skipping"] = std::move(failed);
  return outcome;
}

// How many tasks may be asked about side by side without passing a budget: each call may need its retries, and a reply
// of one child each is the least that is worth its call.
std::int64_t level_most(const StepInput& input, const Assignment& assignment) {
  const DecompositionSettings& settings = assignment.settings;
  const std::int64_t calls = (settings.max_llm_calls - count(input, "llm_calls")) / (settings.retry_limit + 1);
  const std::int64_t nodes = settings.total_node_budget - count(input, "nodes_created");
  return std::min({settings.at_once, calls, nodes});
}

}  // namespace

std::optional<Outcome> next_of_batch(const StepInput& input, const Assignment& assignment) {
  const Batch batch = batch_of(input);
  if (batch.at >= batch.targets.size()) return std::nullopt;
  return reply_of_batch(batch, assignment);
}

std::optional<Outcome> level_ahead(const StepInput& input, const Assignment& assignment) {
  const std::int64_t most = level_most(input, assignment);
  if (most < 2) return std::nullopt;
  const PlanTree plan = named_plan(input);
  Walk walk(input, plan, assignment);
  Outcome outcome{"level", Json::object(), {}};
  const std::optional<Target> first = walk.to_expand(outcome);
  const std::vector<Target> others = walk.more_of_its_level(*first, most - 1, outcome);
  if (others.empty()) return std::nullopt;
  Json targets = Json::array({{{"id", first->id}, {"depth", first->depth}}});
  for (const Target& target : others) targets.push_back({{"id", target.id}, {"depth", target.depth}});
  walk.leave(outcome.patch);
  outcome.patch["batch"] = std::move(targets);
  outcome.patch["batch_at"] = 0;
  return outcome;
}

}  // namespace cairn::decomposing
