// Shared parts of the tests of planning in rounds: replies by a few words, tools of their own, and the nine over the
// sample data. The graph is the real one, with scripted replies or the rule book in a model's place. For one thread.
#pragma once

#include <boost/asio.hpp>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/job.hpp"
#include "storage/chain.hpp"
#include "storage/data/dataset.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/round_planner/rules.hpp"
#include "workers/ports/tools.hpp"
#include "workers/rule_book.hpp"
#include "workers/tools/data/tools.hpp"

namespace cairn::test::rounds {

namespace asio = boost::asio;
using Lines = std::vector<std::string>;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// --- replies ---------------------------------------------------------------------------------------------------------
inline Json says(const std::string& node, Json value) { return {{"node", node}, {"value", std::move(value)}}; }
inline Json fails(const std::string& node, bool retryable = false) {
  return {{"node", node},
          {"error", {{"error", "refused"}, {"message", "The model is out."}, {"retryable", retryable}}}};
}

inline const Json understood =
    says("understand_goal", {{"kind", "count"}, {"references", {"orders"}}, {"reason", "Clear."}});

inline Json goal(const std::string& id, const std::string& worker, Json inputs = Json::object()) {
  return {{"id", id}, {"worker", worker}, {"inputs", std::move(inputs)}};
}
inline Json from(const std::string& id, const std::string& slot) { return {{"from_sub_goal", id}, {"slot", slot}}; }
inline Json goes_on(const std::vector<Json>& goals, const std::string& why = "More is needed.") {
  return says("plan_round", {{"action", "continue"}, {"reasoning", why}, {"sub_goals", goals}});
}
inline Json is_done(Json inputs) {
  return says("plan_round",
              {{"action", "done"}, {"reasoning", "It is all there."}, {"synthesis_inputs", std::move(inputs)}});
}
inline Json gives_up(const std::string& why) { return says("plan_round", {{"action", "failed"}, {"reasoning", why}}); }
inline Json answers(const std::string& text) { return says("synthesize", {{"answer", text}}); }

inline std::unique_ptr<Model> script(const std::vector<Json>& replies) {
  return make_scripted_model({{"replies", replies}});
}
inline std::unique_ptr<Model> rules() {
  return make_rule_model(rule_book_name, [](const ModelRequest& request) { return answer_round_prompt(request); });
}

// --- tools -----------------------------------------------------------------------------------------------------------
inline ToolSpec worker(const std::string& name, NativeTool does, std::vector<std::string> gives = {}) {
  ToolSpec spec;
  spec.name = name;
  spec.does = std::move(does);
  spec.facts.about = "A worker of the test.";
  spec.facts.gives = std::move(gives);
  return spec;
}

// Calls by tool, counted from whatever thread.
class Calls {
 public:
  int count(const std::string& tool) {
    const std::lock_guard lock(mutex_);
    return counts_[tool];
  }
  void add(const std::string& tool) {
    const std::lock_guard lock(mutex_);
    ++counts_[tool];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// `give` leaves its input x as v; `doubt` does so with a tone; `refuse` always fails.
inline std::vector<ToolSpec> small_workers(Calls& calls) {
  const auto give = [&calls](const ToolCall& call) -> ToolAnswer {
    calls.add(call.sub_goal);
    return Json{{"v", call.inputs.value("x", Json("nothing"))}};
  };
  const auto doubt = [](const ToolCall&) -> ToolAnswer { return Json{{"v", 1}, {"tone", "uncertain"}}; };
  const auto refuse = [&calls](const ToolCall& call) -> ToolAnswer {
    calls.add(call.sub_goal);
    return Failure{"error", "It is broken.", false, {}};
  };
  return {worker("give", give, {"v"}), worker("doubt", doubt, {"v", "tone"}), worker("refuse", refuse, {"v"})};
}

struct Scripted {
  explicit Scripted(const std::vector<Json>& replies, const std::vector<ToolSpec>& more = {}) {
    std::vector<ToolSpec> specs = small_workers(calls);
    specs.insert(specs.end(), more.begin(), more.end());
    planner = std::make_unique<PlannerRun>(script(replies), make_tools(std::move(specs), 4));
  }
  RunId run(Json input = {{"question", "How many orders?"}}) const {
    return planner->run("round_planner", std::move(input));
  }
  PlannerRun* operator->() const { return planner.get(); }

  // The data of the n-th prompt of a node.
  Json prompt(const std::string& node, std::size_t n = 0) const {
    return Json::parse(planner->model().of(node).at(n).messages.back()["content"].get<std::string>());
  }
  std::vector<std::string> reasons(const RunId& of) const {
    std::vector<std::string> found;
    for (const Json& event : planner->events(of, "sub_goal_rejected"))
      found.push_back(event["sub_goal"].get<std::string>() + ": " + event["reason"].get<std::string>());
    return found;
  }
  std::int64_t times(const RunId& of, const std::string& node) const {
    const std::vector<std::string> path = planner->path(of);
    return std::count(path.begin(), path.end(), node);
  }

  Calls calls;
  std::unique_ptr<PlannerRun> planner;
};

// The nine tools over the sample.
inline const Dataset& sample() {
  static const Dataset dataset = [] {
    Dataset made;
    made.dsn = made.load_dsn = test::new_database(1);
    made.login = sample_login;
    return made;
  }();
  return dataset;
}

inline std::vector<ToolSpec> nine_tools(const Dataset& dataset) {
  return data_tools(dataset, **find_query_language("sql"));
}
inline std::unique_ptr<Tools> nine() { return make_tools(nine_tools(sample()), 4); }

inline Json ask_rules(PlannerRun& planner, const std::string& question) {
  const RunId run = planner.run("round_planner", {{"question", question}});
  Json output = planner.output(run);
  output["run_status"] = to_string(planner.state(run).status);
  return output;
}
inline Json ask_rules(const std::string& question) {
  PlannerRun planner(rules(), nine());
  return ask_rules(planner, question);
}

}  // namespace cairn::test::rounds
