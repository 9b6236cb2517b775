#include "workers/planners/plan_decomposer/queue.hpp"

#include <algorithm>
#include <utility>

#include "workers/handlers/step_fields.hpp"

namespace cairn::decomposing {
namespace {

constexpr std::size_t skips_max = 2000;  // in one step

}  // namespace

std::int64_t count(const StepInput& input, const char* name) { return channel(input, name, 0).get<std::int64_t>(); }

std::int64_t Assignment::depth_limit() const {
  return is_single() ? std::min(settings.max_depth, settings.expand_depth) : settings.max_depth;
}

Json assignment_json(const Assignment& assignment) {
  return {{"settings", settings_json(assignment.settings)},
          {"mode", assignment.mode},
          {"root", assignment.root},
          {"makes_leaves", assignment.makes_leaves}};
}

Assignment assignment_of(const StepInput& input) {
  const Json& stored = input.data.at("job");
  return {stored_settings(stored.at("settings")), stored.at("mode"), stored.at("root"),
          stored.value("makes_leaves", false)};
}

PlanTree named_plan(const StepInput& input) {
  PlanTree plan = plan_seen(input);
  plan.plan_id = channel(input, "plan_id");
  plan.goal = channel(input, "goal", "").get<std::string>();
  return plan;
}

Target target_of(const Json& entry) { return {entry.at("id"), entry.at("depth")}; }

// --- admission -------------------------------------------------------------------------------------------------------

void Entrance::let_in(const PlanNode& node, std::int64_t depth, bool has_children) {
  if (node.leaf) return;
  if (depth < assignment.depth_limit()) {
    queue.push_back({{"id", node.id}, {"depth", depth}});
  } else if (!has_children) {
    ++depth_limited;
  }
}

void Entrance::leave(Json& patch) {
  if (!queue.empty()) patch["queue"] = std::move(queue);
  if (depth_limited > 0) patch["depth_limited"] = depth_limited;
}

// --- the walk --------------------------------------------------------------------------------------------------------

Walk::Walk(const StepInput& input, const PlanTree& plan, const Assignment& assignment)
    : plan_(plan),
      assignment_(assignment),
      queue_(channel(input, "queue", Json::array())),
      first_(static_cast<std::size_t>(count(input, "taken"))),
      entrance_{assignment} {}

std::optional<Target> Walk::to_expand(Outcome& outcome) {
  while (const std::optional<Target> target = take()) {
    const PlanNode* node = plan_.find(target->id);
    if (node == nullptr) continue;
    const std::vector<const PlanNode*> children = plan_.children(target->id);
    if (assignment_.is_single() || !assignment_.settings.skip_existing || children.empty()) return target;
    pass_by(*target, children, outcome);
    if (skipped_.size() == skips_max) break;
  }
  return std::nullopt;
}

std::vector<Target> Walk::more_of_its_level(const Target& first, std::int64_t most, Outcome& outcome) {
  std::vector<Target> level;
  while (static_cast<std::int64_t>(level.size()) < most && depth_ahead() == first.depth) {
    const std::optional<Target> target = to_expand(outcome);
    if (!target) break;
    level.push_back(*target);
  }
  return level;
}

void Walk::leave(Json& patch) {
  patch["taken"] = taken_;
  if (!skipped_.empty()) patch["skipped"] = skipped_;
  entrance_.leave(patch);
}

std::optional<Target> Walk::ahead() const {
  if (is_at_end()) return std::nullopt;
  const std::size_t at = first_ + taken_;
  return target_of(at < queue_.size() ? queue_[at] : entrance_.queue[at - queue_.size()]);
}

std::optional<std::int64_t> Walk::depth_ahead() const {
  const std::optional<Target> target = ahead();
  return target ? std::optional<std::int64_t>(target->depth) : std::nullopt;
}

std::optional<Target> Walk::take() {
  std::optional<Target> target = ahead();
  if (target) ++taken_;
  return target;
}

void Walk::pass_by(const Target& target, const std::vector<const PlanNode*>& children, Outcome& outcome) {
  skipped_.push_back(target.id);
  outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", "skip"},
                                                                    {"target", target.id},
                                                                    {"mode", assignment_.mode},
                                                                    {"reason", "has_children"},
                                                                    {"source", "rule"}}));
  for (const PlanNode* child : children) entrance_.let_in(*child, target.depth + 1, !plan_.children(child->id).empty());
}

}  // namespace cairn::decomposing
