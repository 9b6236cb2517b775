// Shared parts of the tests of plan_and_do: a model that answers by the task it is asked about, and what came of a run.
// The graph is the real one on a memory store. For one thread.
#pragma once

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/workers/planners/planner_run.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/plan_and_do/prompts.hpp"
#include "workers/planners/plan_and_do/rules.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/ports/tools.hpp"
#include "workers/rule_book.hpp"

namespace cairn::test::doing {

using Names = std::vector<std::string>;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline Json data_of(const ModelRequest& request) {
  return Json::parse(request.messages.back()["content"].get<std::string>());
}

// The model's words by task: the next of a list, and the last one again and again.
struct Lines {
  std::map<std::string, std::deque<Json>> parts;     // lists of children
  std::map<std::string, std::deque<Json>> bindings;  // {"tool", "inputs"}
  std::set<std::string> stops = {};                  // tasks whose parts come with should_stop
};

inline Json next_of(std::map<std::string, std::deque<Json>>& lines, const std::string& task, Json otherwise) {
  const auto found = lines.find(task);
  if (found == lines.end()) return otherwise;
  Json line = found->second.front();
  if (found->second.size() > 1) found->second.pop_front();
  return line;
}

inline Json child(const std::string& name, const Names& after = {}, bool leaf = true) {
  return {{"name", name}, {"instruction", "Do " + name + "."}, {"dependencies", after}, {"leaf", leaf}};
}

inline Json use(const std::string& tool, Json inputs = Json::object()) {
  return {{"tool", tool}, {"inputs", std::move(inputs)}};
}
inline Json with_task_id(Json binding, const std::string& task) {
  binding["task_id"] = task;
  return binding;
}
inline const Json no_tool = {{"tool", nullptr}, {"inputs", Json::object()}};

// A task without lines has no parts, and is done by echo.
inline std::unique_ptr<Model> saying(Lines lines) {
  auto kept = std::make_shared<Lines>(std::move(lines));
  return make_rule_model("desk", [kept](const ModelRequest& request) -> ModelAnswer {
    const Json data = data_of(request);
    ModelReply made;
    if (request.schema_name == binding_schema) {
      const std::string task = data["task"]["id"];
      made.value = next_of(kept->bindings, task, use("echo", {{"said", task}}));
      if (!made.value.contains("task_id")) made.value["task_id"] = task;
      made.value["reason"] = "So it is.";
      return made;
    }
    const std::string task = data["target_task"]["id"];
    Json children = next_of(kept->parts, task, Json::array());
    if (!children.is_array()) children = Json::array({children});  // compilers differ on a list of one in braces
    made.value = {{"target_node_id", task},
                  {"mode", data["mode_hint"]},
                  {"should_stop", kept->stops.contains(task)},
                  {"reason", "So it is."},
                  {"children", std::move(children)}};
    return made;
  });
}

// A tool that always says the same, or fails with it for good.
inline ToolSpec tool(const std::string& name, ToolAnswer answer, ToolFacts facts = {}) {
  ToolSpec spec;
  spec.name = name;
  spec.does = ToolSpec::Instant{[answer = std::move(answer)](const ToolCall&) { return answer; }};
  spec.facts = std::move(facts);
  return spec;
}

inline std::unique_ptr<Tools> builtin_and(std::vector<ToolSpec> more) {
  std::vector<ToolSpec> specs = builtin_tools();
  std::move(more.begin(), more.end(), std::back_inserter(specs));
  return make_tools(std::move(specs), 1);
}

inline const Json all_tools = {"echo", "fail", "broken", "read"};
inline std::unique_ptr<Tools> usual_tools() {
  return builtin_and(
      {tool("broken", Failure{"error", "The wire is cut.", false, {}}), tool("read", Json{{"text", "abc"}})});
}

inline Json goal(Json more = Json::object()) {
  Json input = {{"goal", "Get it done"}, {"tools", all_tools}};
  input.update(more);
  return input;
}

// The results of the leaves by task, "failed: REASON" or "blocked".
inline Json results(const Json& output) {
  Json results = Json::object();
  for (const Json& task : output.at("tasks")) {
    const auto id = task["id"].get<std::string>();
    if (task["status"] == "done")
      results[id] = task["outputs"];
    else
      results[id] = task["status"] == "failed" ? "failed: " + task["reason"].get<std::string>() : "blocked";
  }
  return results;
}

inline Names ids_of(const std::vector<Json>& events, const char* field) {
  Names ids;
  for (const Json& event : events) ids.push_back(event[field]);
  return ids;
}

inline Names statuses(const RunState& state) {
  Names all;
  for (const SubGoal* task : plan_of(state, root_branch)) {
    if (task->tool.empty()) all.push_back(task->id + " " + std::string(to_string(task->status)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

// The last request of a kind about a task.
inline Json asked_about(const PlannerRun& planner, const std::string& schema, const std::string& task) {
  Json found;
  for (const ModelRequest& request : planner.model().requests) {
    if (request.schema_name != schema) continue;
    Json data = data_of(request);
    if (data[schema == binding_schema ? "task" : "target_task"]["id"] == task) found = std::move(data);
  }
  return found;
}

inline void answer(PlannerRun& planner, const RunId& run, const Json& value) {
  const Result<Done> answered = planner.client().command(run, Answer{"", value, "person", {}});
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  planner.work(run);
}

inline Json open_prompt(PlannerRun& planner, const RunId& run) {
  const RunState state = planner.state(run);
  return state.questions.size() == 1 ? planner.client().expand_blobs(state.questions.begin()->second.prompt, 0)
                                     : Json();
}

}  // namespace cairn::test::doing
