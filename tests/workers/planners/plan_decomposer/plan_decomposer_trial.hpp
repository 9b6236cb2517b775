// Shared parts of the plan decomposer's tests: plans and replies by a few words, and the results of a run. The graph is
// the real one on a memory store, with scripted replies, the rule book or a real HTTP endpoint in a model's place. For
// one thread.
#pragma once

#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/evolve.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/planners/plan_decomposer/result.hpp"
#include "workers/planners/plan_decomposer/rules.hpp"
#include "workers/rule_book.hpp"

namespace cairn::test::decomposing {

using testing::LoopbackServer;
using Names = std::vector<std::string>;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- plans and replies -----------------------------------------------------------------------------------------------
struct Task {
  std::string id;
  std::string parent = "";
  Names dependencies = {};
};

// A plan of tasks that are named after their ids, siblings in the order given.
inline Json plan_of(const std::vector<Task>& tasks, Json plan_id = 8) {
  Json plan = {{"plan_id", std::move(plan_id)}, {"roots", Json::array()}, {"nodes", Json::object()}};
  for (const Task& task : tasks) {
    Json node = {{"name", "Task " + task.id},
                 {"instruction", "Do " + task.id + "."},
                 {"position", plan["nodes"].size()},
                 {"dependencies", task.dependencies}};
    if (task.parent.empty()) {
      plan["roots"].push_back(task.id);
    } else {
      node["parent_id"] = task.parent;
    }
    plan["nodes"][task.id] = std::move(node);
  }
  return plan;
}

inline Json input(Json plan, Json options = Json::object()) {
  return {{"plan", std::move(plan)}, {"options", std::move(options)}};
}
inline Json input_for(Json plan, const std::string& node, Json options = Json::object()) {
  Json made = input(std::move(plan), std::move(options));
  made["node_id"] = node;
  return made;
}

inline Json child(const std::string& name, bool leaf = true, Json dependencies = Json::array(),
                  Json context = nullptr) {
  return {{"name", name},
          {"instruction", "Do " + name + "."},
          {"dependencies", std::move(dependencies)},
          {"context", std::move(context)},
          {"leaf", leaf}};
}

inline std::vector<Json> children(const std::string& prefix, int count, bool leaf = true) {
  std::vector<Json> list;
  for (int i = 0; i < count; ++i) list.push_back(child(prefix + std::to_string(i), leaf));
  return list;
}

inline Json reply(const std::string& target, const std::vector<Json>& children, const std::string& mode = "plan_bfs") {
  return {{"target_node_id", target},
          {"mode", mode},
          {"should_stop", false},
          {"reason", "So it is."},
          {"children", children}};
}
inline Json single(const std::string& target, const std::vector<Json>& children) {
  return reply(target, children, "single_node");
}

inline Json stops(Json reply, const std::string& reason) {
  reply["should_stop"] = true;
  reply["reason"] = reason;
  return reply;
}

inline Json value(Json reply) { return {{"value", std::move(reply)}}; }
inline const Json fails = {{"error", {{"error", "unreachable"}, {"message", "The endpoint is away."}}}};

inline std::unique_ptr<Model> script(const std::vector<Json>& replies) {
  Json list = Json::array();
  for (const Json& one : replies) list.push_back(one.contains("children") ? value(one) : one);
  return make_scripted_model({{"replies", list}});
}

// Gives every task the same number of children, by its own prompt.
inline std::unique_ptr<Model> generous(int count) {
  return make_rule_model("generous", [count](const ModelRequest& request) -> ModelAnswer {
    const Json data = Json::parse(request.messages.back()["content"].get<std::string>());
    ModelReply made;
    made.value = reply(data["target_task"]["id"], children("n", count, false), data["mode_hint"]);
    return made;
  });
}

inline Json without(Json object, const char* field) {
  object.erase(field);
  return object;
}
inline Json with(Json object, const char* field, Json set) {
  object[field] = std::move(set);
  return object;
}

// --- what came of it -------------------------------------------------------------------------------------------------
inline Json result_of(PlannerRun& planner, const RunId& run) {
  const RunState state = planner.state(run);
  EXPECT_EQ(state.status, RunStatus::done) << state.reason;
  return planner.output(run).value("result", Json::object());
}

inline Names names_of(const Json& tasks) {
  Names names;
  for (const Json& task : tasks) names.push_back(task["name"]);
  return names;
}

inline Names targets(PlannerRun& planner, const RunId& run, const std::string& mode = "plan_bfs") {
  Names targets;
  for (const Json& event : planner.events(run, "task_decomposed")) {
    if (event["mode"] == mode) targets.push_back(event["target"]);
  }
  return targets;
}

// Ids of the tasks below a task in the run's plan, without those that were removed.
inline Names below(const RunState& state, const std::string& parent) {
  Names ids;
  for (const SubGoal* goal : plan_of(state, root_branch)) {
    if (goal->parent == parent && goal->status == GoalStatus::planned) ids.push_back(goal->id);
  }
  return ids;
}

inline Json prompt_of(const ModelRequest& request) {
  return Json::parse(request.messages.back()["content"].get<std::string>());
}

inline Names asked(const PlannerRun& planner) {
  Names ids;
  for (const ModelRequest& request : planner.model().requests) ids.push_back(prompt_of(request)["target_task"]["id"]);
  return ids;
}

}  // namespace cairn::test::decomposing
