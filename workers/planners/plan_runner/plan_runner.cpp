// Runs a plan that someone else made: opens its sub-goals, lets the map run them, and reports on each.
#include <utility>

#include "engine/decide.hpp"
#include "workers/planners/planners.hpp"

namespace cairn {
namespace {

constexpr std::size_t sub_goals_max = facts_max - 1;  // one fact is the plan itself

Failure malformed(std::string message) { return {"invalid", std::move(message), false, {}}; }

// One sentence if the sub-goal cannot be read; what it says is the engine's to judge.
std::string fault_of(const Json& goal, std::size_t position) {
  const std::string which = "Expected sub-goal " + std::to_string(position + 1) + " of the input to ";
  const auto is_text = [&goal](const char* name) {
    return goal.contains(name) && goal[name].is_string() && !goal[name].get_ref<const std::string&>().empty();
  };
  if (!goal.is_object()) return which + "be an object, but it is " + excerpt(goal, 100) + ".";
  if (!is_text("id")) return which + "have an id, but it is " + excerpt(goal, 100) + ".";
  if (!is_text("tool")) return which + "name a tool, but it is " + excerpt(goal, 100) + ".";
  if (!goal.value("inputs", Json::object()).is_object()) return which + "have an object as inputs, but it has none.";
  const Json after = goal.value("after", Json::array());
  if (!after.is_array()) return which + "have a list of ids as after, but it is " + excerpt(after, 100) + ".";
  for (const Json& id : after) {
    if (!id.is_string()) return which + "name ids in after, but one is " + excerpt(id, 100) + ".";
  }
  return "";
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
    return malformed("Expected the input to have a list of sub_goals, but it is " + excerpt(goals, 100) + ".");
  }
  if (goals.size() > sub_goals_max) {
    return malformed("Expected at most " + std::to_string(sub_goals_max) + " sub_goals, but there are " +
                     std::to_string(goals.size()) + ".");
  }
  const Json goal = input.data.value("goal", Json(""));
  if (!goal.is_string()) return malformed("Expected the goal to be a text, but it is " + excerpt(goal, 100) + ".");
  Outcome outcome{"opened", Json::object(), {}};
  outcome.facts.emplace_back(PlanCreated{1, goal.get<std::string>(), {}});
  for (std::size_t i = 0; i < goals.size(); ++i) {
    if (std::string fault = fault_of(goals[i], i); !fault.empty()) return malformed(std::move(fault));
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
  // An id may be rejected more than once, and beside one that ran.
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
  Handler open;
  open.name = "plan_runner.open";
  open.labels = {"opened"};
  open.reads = {"goal", "sub_goals"};
  open.run = PureHandler(open_plan);
  table.add(std::move(open));
  Handler close;
  close.name = "plan_runner.close";
  close.labels = {"all_succeeded", "some_failed"};
  close.reads_plan = true;
  close.run = PureHandler(close_plan);
  table.add(std::move(close));
}

}  // namespace cairn
