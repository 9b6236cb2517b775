// The run of a plan that a caller brings: its sub-goals are opened, the map runs them, and each is reported on.
#include <utility>

#include "engine/decide.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

constexpr std::size_t sub_goals_max = facts_max - 1;  // one fact is the plan itself

// Refuses `invalid`: a sub-goal that cannot be read. Whether it can be done is the engine's to judge.
Status check_goal(const Json& goal, std::size_t position) {
  const auto refused = [position](const std::string& wanted) {
    return Error{Code::invalid, "Expected sub-goal " + std::to_string(position + 1) + " of the input to " + wanted};
  };
  const auto is_text = [&goal](const char* name) {
    return goal.contains(name) && goal[name].is_string() && !goal[name].get_ref<const std::string&>().empty();
  };
  if (!goal.is_object()) return refused("be an object, but it is " + excerpt(goal, 100) + ".");
  if (!is_text("id")) return refused("have an id, but it is " + excerpt(goal, 100) + ".");
  if (!is_text("tool")) return refused("name a tool, but it is " + excerpt(goal, 100) + ".");
  if (!goal.value("inputs", Json::object()).is_object()) return refused("have an object as inputs, but it has none.");
  const Json after = goal.value("after", Json::array());
  if (!after.is_array()) return refused("have a list of ids as after, but it is " + excerpt(after, 100) + ".");
  for (const Json& id : after) {
    if (!id.is_string()) return refused("name ids in after, but one is " + excerpt(id, 100) + ".");
  }
  return Done{};
}

SubGoalOpened opened(const Json& goal) {
  SubGoalOpened fact;
  fact.sub_goal = goal["id"].get<std::string>();
  fact.tool = goal["tool"].get<std::string>();
  if (goal.contains("title") && goal["title"].is_string()) fact.title = goal["title"].get<std::string>();
  fact.inputs = goal.value("inputs", Json::object());
  fact.after = goal.value("after", std::vector<std::string>());
  return fact;
}

StepResult open_plan(const StepInput& input) {
  const Json goals = input.data.value("sub_goals", Json());
  if (!goals.is_array()) {
    return invalid_input("Expected the input to have a list of sub_goals, but it is " + excerpt(goals, 100) + ".");
  }
  if (goals.size() > sub_goals_max) {
    return invalid_input("Expected at most " + std::to_string(sub_goals_max) + " sub_goals, but there are " +
                         std::to_string(goals.size()) + ".");
  }
  const Json goal = input.data.value("goal", Json(""));
  if (!goal.is_string()) return invalid_input("Expected the goal to be a text, but it is " + excerpt(goal, 100) + ".");
  Outcome outcome{"opened", Json::object(), {}};
  outcome.facts.emplace_back(PlanCreated{1, goal.get<std::string>(), {}});
  for (std::size_t i = 0; i < goals.size(); ++i) {
    if (Status readable = check_goal(goals[i], i); !readable) return failure_of(readable.error());
    outcome.facts.emplace_back(opened(goals[i]));
  }
  return outcome;
}

struct Report {
  Json results = Json::object();
  Json failed = Json::object();
  Json skipped = Json::array();

  void add(const GoalView& goal) {
    if (goal.status == GoalStatus::succeeded) {
      results[goal.id] = goal.outputs;
    } else if (goal.status == GoalStatus::skipped) {
      skipped.push_back(goal.id);
    } else {
      failed[goal.id] = goal.message.empty() ? goal.error : goal.message;
    }
  }
  // An id may be rejected more than once, and also after one that ran.
  void add(const RejectedView& goal) {
    const std::string before = failed.value(goal.id, "");
    failed[goal.id] = before.empty() ? goal.reason : before + " " + goal.reason;
  }
};

StepResult close_plan(const StepInput& input) {
  Report report;
  for (const GoalView& goal : input.plan) report.add(goal);
  for (const RejectedView& goal : input.rejected) report.add(goal);
  const bool all_succeeded = report.failed.empty() && report.skipped.empty();
  Outcome outcome{all_succeeded ? "all_succeeded" : "some_failed", Json::object(), {}};
  if (!all_succeeded) {
    outcome.patch["reason"] = "Expected every sub-goal to succeed, but " + std::to_string(report.failed.size()) +
                              " failed and " + std::to_string(report.skipped.size()) + " were skipped.";
  }
  outcome.patch["results"] = std::move(report.results);
  outcome.patch["failed"] = std::move(report.failed);
  outcome.patch["skipped"] = std::move(report.skipped);
  return outcome;
}

}  // namespace

void add_plan_runner(HandlerTable& table) {
  table.add("plan_runner", {{"open", {"opened"}, {"goal", "sub_goals"}, PureHandler(open_plan)},
                            {"close", {"all_succeeded", "some_failed"}, {}, PureHandler(close_plan), reads_the_plan}});
}

}  // namespace cairn
