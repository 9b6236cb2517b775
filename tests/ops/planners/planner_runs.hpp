// The planners' runs for tests of the program and its database: for each planning system one that needs nothing from
// outside, and functions that start it, execute it in a process that dies at a given event, answer its questions and
// compare it with another. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/ops/program.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct PlannerCase {
  std::string graph;
  std::string input;
  std::vector<std::string> answers = {};  // to its questions, in their order
  Json replies = nullptr;       // of a scripted model, from the first one on in each process; null: the usual model
  std::string tools_file = {};  // of the workers; "": the usual tools
};
std::ostream& operator<<(std::ostream& out, const PlannerCase& a);

PlannerCase seven_node_case();
PlannerCase plan_decomposer_case();
PlannerCase plan_and_do_case();
PlannerCase page_agent_case();
PlannerCase round_planner_case();  // loads the sample data set
PlannerCase venture_scope_case();
PlannerCase mcp_call_case();    // needs python3
PlannerCase tool_agent_case();  // needs a ToolAgentModel
std::vector<PlannerCase> planner_cases();

// Runs whose decisions are rewritten or forced: a model that fails, plans with a worker that is not there, aims at an
// element that is not on the page or is asked about the weather; tasks that name tasks which are not there.
PlannerCase overruled_case(const std::string& graph);
// Runs that wait at every node of their graph that asks; the usual case of a graph that has none.
PlannerCase asking_case(const std::string& graph);
// Three sub-goals of round_planner that do not depend on one another; the usual case of any other graph.
PlannerCase parallel_case(const std::string& graph);

// A variable of the environment that the processes of the tests have as long as this lives.
class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::string& value);
  ~EnvironmentVariable();
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;  // given back at the end
};

// A model over HTTP for tool_agent_case, used by every process of the tests as long as this lives. It has no memory:
// its reply follows from the request alone.
class ToolAgentModel {
 public:
  ToolAgentModel();
  ~ToolAgentModel();
  ToolAgentModel(const ToolAgentModel&) = delete;
  ToolAgentModel& operator=(const ToolAgentModel&) = delete;
  std::size_t asked() const { return server_.requests().size(); }

 private:
  testing::LoopbackServer server_;
};

// The embedded database of the tests, started.
const std::string& dsn();

std::vector<Json> events_of(const std::string& run);
Json shown(const std::string& run);

// The part of a run's state that must not depend on where the process died, nor on the run: all but ids, step numbers
// and measured times.
Json comparable(const std::string& run);

// How many records of a call or a result each step and each sub-goal left.
std::map<std::string, int> records_of(const std::vector<Json>& events);

std::string start_run(const PlannerCase& a);

// Executes the run until it has ended or waits; with `event` until the commit that brings it there, after which the
// process dies (137), with `-event` until just before that commit. Returns the exit code of the last worker.
int work_until(const std::string& run, std::int64_t event);
int work_until(const PlannerCase& a, const std::string& run, std::int64_t event);  // with the case's model
// The same, with the case's answers to its questions.
int execute(const PlannerCase& a, const std::string& run, std::int64_t event = 0);

// Dies after each commit in turn, each time in a new run, and continues to the same end. Returns the number of crashes.
// `crashed` checks the run after the crash, `ended` at its end.
int crash_everywhere(const PlannerCase& a, const std::function<void(const std::string& run)>& crashed,
                     const std::function<void(const std::string& run)>& ended);

}  // namespace cairn::program
