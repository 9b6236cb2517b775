// One run of each planning system that needs nothing from outside, and what may be done with it again and again:
// started, executed in a process that dies where it is told to, answered, compared. For tests over the program and its
// database.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/ops/program.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {

struct PlannerCase {
  std::string graph;
  std::string input;
  std::vector<std::string> answers = {};  // to its questions, in their order
};
std::ostream& operator<<(std::ostream& out, const PlannerCase& a);

PlannerCase seven_node_case();
PlannerCase plan_decomposer_case();
PlannerCase page_agent_case();
PlannerCase round_planner_case();  // loads the sample data set
PlannerCase venture_scope_case();
PlannerCase tool_agent_case();  // of a ToolAgentModel's life
std::vector<PlannerCase> planner_cases();

// A model over HTTP for tool_agent_case, which every process of the tests asks as long as this lives. It goes by what
// it is sent alone.
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

// What must not depend on where the process died, nor on the run: all but ids, the numbers of steps and what was
// measured.
Json comparable(const std::string& run);

// What each step and each sub-goal left on record, of the kinds that stand for a call or a result.
std::map<std::string, int> records_of(const std::vector<Json>& events);

std::string start_run(const PlannerCase& a);

// Executes the run until it has ended or waits; with `event` until the commit that brings it there, after which the
// process is gone (137), with `-event` until just before that commit. The exit code of the last worker.
int work_until(const std::string& run, std::int64_t event);
// The same, with the case's answers to its questions.
int execute(const PlannerCase& a, const std::string& run, std::int64_t event = 0);

// Dies after each commit in turn, in a run of its own, and goes on to the same end; the number of crashes. `crashed`
// looks at what the crash left, `ended` at the run in the end.
int crash_everywhere(const PlannerCase& a, const std::function<void(const std::string& run)>& crashed,
                     const std::function<void(const std::string& run)>& ended);

}  // namespace cairn::program
