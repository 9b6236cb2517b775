#include "workers/planners/round_planner/policy.hpp"

#include <algorithm>
#include <utility>

#include "workers/handlers/step_fields.hpp"

namespace cairn {
namespace {

const GoalView* find(const std::vector<GoalView>& plan, const std::string& id) {
  const auto found = std::find_if(plan.begin(), plan.end(), [&id](const GoalView& goal) { return goal.id == id; });
  return found == plan.end() ? nullptr : &*found;
}

bool has_failed(const GoalView& goal) {
  return goal.status == GoalStatus::failed || goal.status == GoalStatus::skipped;
}

class Proposing {
 public:
  explicit Proposing(const RoundView& view) : view_(view), retries_(view.input.data.value("retries", Json::object())) {}

  void add(const Json& wanted) {
    SubGoalOpened goal;
    goal.sub_goal = text_of(wanted, "id");
    goal.tool = text_of(wanted, "worker");
    goal.inputs = wanted.value("inputs", Json::object());
    const auto facts = view_.tools.find(goal.tool);
    if (facts == view_.tools.end() || facts->second.about.empty())
      return reject(goal, "Expected a worker of the registry, but " + goal.tool + " is none.");
    fill_in(goal.inputs, facts->second);
    const std::string retry_of = retried_by(wanted, goal);
    if (!retry_of.empty() && !allow_retry(goal, retry_of)) return;
    goal.title = "round " + std::to_string(view_.round) + (retry_of.empty() ? "" : ", retry of " + retry_of);
    if (wanted.value("deliverable", false)) made_.deliverables.push_back(goal.sub_goal);
    ++made_.opened;
    made_.facts.emplace_back(std::move(goal));
  }

  Proposals take() { return std::move(made_); }

 private:
  void reject(const SubGoalOpened& goal, std::string reason) {
    made_.reasons.push_back(reason);
    made_.facts.emplace_back(SubGoalRejected{goal.sub_goal, goal.tool, std::move(reason), {}});
  }

  // Adds the run's data that the tool needs, under the last word of its name.
  void fill_in(Json& inputs, const ToolFacts& facts) const {
    for (const std::string& need : facts.needs) {
      const std::string name = need.substr(need.find_last_of("$/") + 1);
      if (!need.starts_with("$") || inputs.contains(name)) continue;
      std::optional<Json> value = referred(std::string_view(need).substr(1), [this](std::string_view channel) {
        const auto found = view_.input.data.find(channel);
        return found == view_.input.data.end() ? std::nullopt : std::optional<Json>(*found);
      });
      if (value && !value->is_null()) inputs[name] = *std::move(value);
    }
  }

  // The failed sub-goal that this one tries again, whether it says so or not.
  std::string retried_by(const Json& wanted, const SubGoalOpened& goal) const {
    if (const std::string named = text_of(wanted, "retry_of"); !named.empty()) return named;
    for (const GoalView& earlier : view_.input.plan)
      if (has_failed(earlier) && earlier.tool == goal.tool && earlier.inputs == goal.inputs) return earlier.id;
    return "";
  }

  // The first of a chain of retries.
  std::string origin_of(const std::string& id) const { return made_.retries.value(id, retries_.value(id, id)); }

  bool allow_retry(const SubGoalOpened& goal, const std::string& retry_of) {
    const GoalView* failed = find(view_.input.plan, retry_of);
    if (failed == nullptr || !has_failed(*failed)) {
      reject(goal, "Expected to retry a sub-goal that failed, but " + retry_of + " is none.");
      return false;
    }
    const std::string origin = origin_of(retry_of);
    std::int64_t used = 0;
    for (const Json* made : {&std::as_const(retries_), &std::as_const(made_.retries)})
      for (const Json& from : *made) used += from == origin ? 1 : 0;
    if (used >= view_.retries_max) {
      reject(goal, "Expected at most " + std::to_string(view_.retries_max) + " retries of sub-goal " + origin +
                       ", but this would be another.");
      return false;
    }
    made_.retries[goal.sub_goal] = origin;
    return true;
  }

  const RoundView& view_;
  const Json retries_;
  Proposals made_;
};

}  // namespace

Proposals propose(const RoundView& view, const Json& sub_goals) {
  Proposing proposing(view);
  for (const Json& wanted : sub_goals) proposing.add(wanted);
  return proposing.take();
}

Status check_synthesis_inputs(const StepInput& input, const Json& synthesis_inputs) {
  if (!synthesis_inputs.is_object() || synthesis_inputs.empty())
    return Error{Code::invalid, "Expected synthesis_inputs that name what the answer is made of, but there are none."};
  for (const auto& [name, reference] : synthesis_inputs.items()) {
    const std::string id = text_of(reference, "from_sub_goal");
    const std::string slot = text_of(reference, "slot");
    const GoalView* goal = find(input.plan, id);
    const bool is_there =
        goal != nullptr && goal->status == GoalStatus::succeeded && !goal->outputs.value(slot, Json()).is_null();
    if (!is_there)
      return Error{Code::invalid, "Expected the synthesis input " + name + " to be an output, but sub-goal " + id +
                                      " left no " + slot + "."};
  }
  return Done{};
}

Json resolved_inputs_of(const StepInput& input, const Json& synthesis_inputs) {
  Json resolved = Json::object();
  for (const auto& [name, reference] : synthesis_inputs.items()) {
    const GoalView* goal = find(input.plan, text_of(reference, "from_sub_goal"));
    if (goal == nullptr || !goal->outputs.is_object()) continue;
    resolved[name]["value"] = goal->outputs.value(text_of(reference, "slot"), Json());
    if (goal->outputs.contains("tone")) resolved[name]["tone"] = goal->outputs["tone"];
  }
  return resolved;
}

namespace {

Json missing_row(const std::string& id, const std::string& worker, const std::string& error) {
  return {{"id", id}, {"worker", worker}, {"error", error}};
}

// The failed and skipped sub-goals that no retry, and none that does the same, made good.
std::vector<const GoalView*> not_made_good(const StepInput& input, const Json& retries) {
  const auto made_good = [&](const GoalView& failed) {
    const std::string origin = retries.value(failed.id, failed.id);
    return std::any_of(input.plan.begin(), input.plan.end(), [&](const GoalView& goal) {
      const bool is_same =
          retries.value(goal.id, goal.id) == origin || (goal.tool == failed.tool && goal.inputs == failed.inputs);
      return goal.status == GoalStatus::succeeded && is_same;
    });
  };
  std::vector<const GoalView*> found;
  for (const GoalView& goal : input.plan)
    if (has_failed(goal) && !made_good(goal)) found.push_back(&goal);
  return found;
}

Json row_of_failed(const GoalView& goal) {
  return missing_row(goal.id, goal.tool, goal.message.empty() ? goal.error : goal.message);
}

bool is_named_in(const Json& ids, const std::string& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// The round that opened the sub-goal, as its title has it.
std::string round_in_title(const GoalView& goal) { return goal.title.substr(0, goal.title.find(',')); }

// A deliverable of a round after that of `failed` succeeded: the planner found another way. The plan has the rounds in
// their order.
bool was_got_round(const StepInput& input, const GoalView& failed, const Json& deliverables) {
  return std::any_of(input.plan.begin(), input.plan.end(), [&](const GoalView& goal) {
    return &goal > &failed && goal.status == GoalStatus::succeeded && is_named_in(deliverables, goal.id) &&
           round_in_title(goal) != round_in_title(failed);
  });
}

}  // namespace

Json missing_parts(const StepInput& input, const Json& retries) {
  Json missing = Json::array();
  for (const GoalView* goal : not_made_good(input, retries)) missing.push_back(row_of_failed(*goal));
  for (const RejectedView& goal : input.rejected) {
    const bool is_made_good = std::any_of(input.plan.begin(), input.plan.end(), [&](const GoalView& other) {
      return other.tool == goal.tool && other.status == GoalStatus::succeeded;
    });
    if (!is_made_good) missing.push_back(missing_row(goal.id, goal.tool, goal.reason));
  }
  return missing;
}

Json missing_when_done(const StepInput& input, const Json& retries, const Json& deliverables) {
  Json missing = Json::array();
  for (const GoalView* goal : not_made_good(input, retries))
    if (is_named_in(deliverables, goal->id) || !was_got_round(input, *goal, deliverables))
      missing.push_back(row_of_failed(*goal));
  return missing;
}

Status check_deliverables(const StepInput& input, const Json& deliverables) {
  std::string lacking;
  for (const Json& part : missing_parts(input, input.data.value("retries", Json::object()))) {
    if (!is_named_in(deliverables, text_of(part, "id"))) continue;
    lacking += (lacking.empty() ? "" : ", ") + text_of(part, "id") + " (" + text_of(part, "error") + ")";
  }
  if (lacking.empty()) return Done{};
  return Error{Code::invalid, "Expected every deliverable to be complete, but these are not: " + lacking +
                                  ". Try them again or in another way, or say done once more to answer without them."};
}

}  // namespace cairn
