// A run driven by hand, without workers, store or clock: given a graph, when commands, then events.
// Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "engine/decide.hpp"
#include "engine/snapshot.hpp"

namespace cairn {

// One event in one line: "3 step_succeeded fork ok -> left right".
std::string line_of(const Event& event);

// The number 1 inside so many arrays.
Json nested(int levels);

class Trial {
 public:
  static constexpr TimeUs second_us = 1'000'000;

  // Handlers are those whose labels the graph's nodes declare.
  explicit Trial(const std::string& graph_json);

  // Adds a graph that `call` nodes may name.
  void add_graph(const std::string& graph_json);

  // Decides and keeps the events; after each decision the queue, the replay and the snapshot are compared with the
  // state, and the decision with the one that the recorded outcomes alone lead to. At the end a slice is cut
  // (blame.hpp).
  Result<Decision> when(Command command);

  // Returns the lines of a command's events; the command must not be refused.
  std::vector<std::string> then(Command command);

  // Returns a command's refusal; the command must be refused and change nothing.
  Error refused(Command command);

  std::vector<std::string> start(const std::string& input = "{}", Options options = {});
  std::vector<std::string> complete(StepId step, const std::string& label, const std::string& patch = "{}",
                                    std::vector<Fact> facts = {});
  std::vector<std::string> fail(StepId step, const std::string& error = "error", bool retryable = true);

  // The settings of step `id`, its references resolved.
  Json with_of(StepId id) const;

  RunState state;
  Graphs graphs;
  ToolTable tools{{"echo", {}}, {"slow", {"slow", {}}}, {"fed", {"default", {"$food"}}}};
  TimeUs now_us = 1'700'000'000 * second_us;
  double draw = 0;
  std::vector<Event> history;
  std::vector<std::size_t> commits;  // how long the history was after each decision
  std::map<BranchId, Job> queue;     // kept as a store would: by the touched branches of each decision
  std::vector<Decision::Child> children;
  std::uint32_t replay_every = 1;  // decisions; the queue and the settling are compared after each

 private:
  void compare() const;
  void compare_replay() const;
  void compare_decisions() const;
  void compare_blame() const;
  std::uint32_t commands_ = 0;
};

// A graph under a version of its own.
GraphRef version_of(const std::string& text, const std::string& version);
// The text with the first `from` replaced, which must be there.
std::string replaced(std::string text, const std::string& from, const std::string& to);

// A sub-goal as a handler proposes it.
SubGoalOpened sub_goal(std::string id, std::string tool = "echo", std::vector<std::string> after = {},
                       const std::string& inputs = "{}");

}  // namespace cairn
