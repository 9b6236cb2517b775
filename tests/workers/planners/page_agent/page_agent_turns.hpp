// Shared parts of the page agent's tests: replies by a few words, and one run of a client that brings its DOM, turn by
// turn. The graph is the real one, with scripted replies in a model's place. For one thread.
#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/page_agent/page_agent.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/planners/page_agent/rules.hpp"
#include "workers/ports/tools.hpp"
#include "workers/runs/history.hpp"
#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn::test::paging {

using page_agent::Role;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline Json says(const std::string& node, Json value) { return {{"node", node}, {"value", std::move(value)}}; }
inline Json fails(const std::string& node) {
  return {{"node", node}, {"error", {{"error", "refused"}, {"message", "The model is out."}, {"retryable", false}}}};
}

inline Json step(const std::string& description, const std::string& phase = "all") {
  return {{"description", description},
          {"reasoning", "r"},
          {"tool_type", "DOM"},
          {"expected_outcome", "e"},
          {"phase", phase}};
}
inline Json steps(int count, const std::string& name = "step") {
  Json made = Json::array();
  for (int i = 0; i < count; ++i) made.push_back(step(name + " " + std::to_string(i)));
  return made;
}
inline Json plan_of(Json made, const std::vector<Json>& contingencies = {}) {
  return {{"steps", std::move(made)}, {"contingencies", contingencies}};
}
inline Json contingency(const std::string& type, const std::string& match, const std::string& action,
                        bool skips = true) {
  return {{"type", type}, {"match", match}, {"action", action}, {"skip_correction", skips}};
}
inline Json verdict(bool succeeded, bool completed, double confidence = 0.9) {
  return {{"action_succeeded", succeeded}, {"task_completed", completed}, {"confidence", confidence}};
}
inline Json sub_verdict(bool succeeded, bool sub_task, double confidence, Json outputs = Json::object()) {
  Json said = verdict(succeeded, false, confidence);
  said["sub_task_completed"] = sub_task;
  said["outputs"] = std::move(outputs);
  return said;
}
inline Json checked(bool valid, Json changes = Json::array(), bool full = false, const std::string& reason = "r") {
  return {{"valid", valid}, {"reason", reason}, {"suggested_changes", std::move(changes)}, {"needs_full_replan", full}};
}
inline Json analysis(bool searches, bool sufficient = false, double confidence = 0.1) {
  return {{"needs_search", searches},
          {"query", "q"},
          {"rag_sufficient", sufficient},
          {"grounding_confidence", confidence},
          {"reason", "r"}};
}
inline Json acts(const std::string& action) { return {{"thought", "t"}, {"action", action}}; }
inline Json refines(const std::string& action, const std::string& tool_type = "DOM") {
  return {{"thought", "t"}, {"tool_type", tool_type}, {"action", action}};
}
inline Json sub_tasks(int count) {
  Json tasks = Json::array();
  for (int i = 0; i < count; ++i) {
    tasks.push_back({{"name", "task " + std::to_string(i)},
                     {"objective", "objective " + std::to_string(i)},
                     {"inputs", Json::array()},
                     {"outputs", {"patient_id"}},
                     {"estimated_steps", 3}});
  }
  return {{"sub_tasks", tasks}};
}

// The replies of a test, and after them for each node what lets a run go on.
inline Json script_of(std::vector<Json> replies) {
  const std::map<std::string, Json> usual = {
      {"context_analysis", analysis(false)},   {"planning", plan_of(steps(3))},
      {"decompose_plan", sub_tasks(2)},        {"step_refinement", refines("click(1)")},
      {"action_generation", acts("click(1)")}, {"verification", verdict(true, false)},
      {"replanning", checked(true)},           {"correction", acts("click(2)")}};
  for (const auto& [node, value] : usual) {
    for (int i = 0; i < 40; ++i) replies.push_back(says(node, value));
  }
  return {{"replies", std::move(replies)}};
}

inline std::string dom_of(int rows, const std::string& more = "") {
  std::string dom = "<button id=1>Go</button><button id=2>Other</button><input id=3 name=\"name\" value=\"\">" + more;
  for (int i = 0; i < rows; ++i) dom += "<p>row " + std::to_string(i) + "</p>";
  return dom;
}

inline const std::string home = "http://a/";

// One run of a client that brings its DOM.
class Turns {
 public:
  Turns(std::initializer_list<Json> replies, Json more = Json::object(), std::unique_ptr<Tools> tools = nullptr)
      : Turns(std::move(more), make_scripted_model(script_of(replies)), std::move(tools)) {}
  Turns(Json more, std::unique_ptr<Model> model, std::unique_ptr<Tools> tools = nullptr)
      : planner(std::move(model), std::move(tools)) {
    Json input = {{"goal", "Add a new patient with name Jas"}, {"client", true}, {"url", home}, {"dom", dom_of(4)}};
    input.update(more);
    run = planner.run("page_agent", std::move(input));
  }

  Status try_answer(Json value) { return planner.client().command(run, Answer{"", std::move(value), "", {}}); }
  void turn(const std::string& dom = dom_of(4), const std::string& url = home, Json more = Json::object()) {
    Json value = {{"dom", dom}, {"url", url}};
    value.update(more);
    const Status answered = try_answer(std::move(value));
    ASSERT_TRUE(answered) << answered.error().message;
    planner.work(run);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }

  Json channel(const std::string& name) { return planner.channel(run, name); }
  std::vector<Json> events(const std::string& type) { return planner.events(run, type); }
  std::int64_t index() { return channel("turn")["index"].get<std::int64_t>(); }
  std::int64_t calls(const std::string& node) { return static_cast<std::int64_t>(planner.model().of(node).size()); }
  std::string prompt(const std::string& node) {
    return planner.model().of(node).back().messages.back()["content"].get<std::string>();
  }
  Json data(const std::string& node) { return page_agent::data_of_prompt(planner.model().of(node).back().messages); }
  std::string status() { return std::string(to_string(planner.state(run).status)); }
  // Labels by which the node was left, in their order.
  std::vector<std::string> labels(const std::string& node) {
    std::vector<std::string> found;
    for (const char* type : {"step_succeeded", "step_failed"}) {
      for (const Json& event : events(type)) {
        if (event["node"] == node && event.contains("label")) found.push_back(event["label"].get<std::string>());
      }
    }
    return found;
  }
  bool visited(const std::string& node) { return !labels(node).empty(); }

  PlannerRun planner;
  RunId run;
};

// A tool that finds something and counts how often it was asked.
inline std::unique_ptr<Tools> finder(std::shared_ptr<std::vector<Json>> asked) {
  ToolSpec spec;
  spec.name = "find";
  spec.does = NativeTool([asked](const ToolCall& call) {
    asked->push_back(call.inputs);
    return Json{{"found", "how to add a patient"}};
  });
  return make_tools({spec}, 1);
}

}  // namespace cairn::test::paging
