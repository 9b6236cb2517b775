// The process dies after every single commit of a run of plan_runner, whose tool keeps a list of its executions; the
// planning systems die in invariants_test.cpp.
#include <gtest/gtest.h>
#include <sstream>

#include "tests/ops/planners/planner_runs.hpp"

namespace cairn::program {
namespace {

int executions_in(const std::filesystem::path& log, const std::string& sub_goal) {
  std::istringstream text(read_file(log));
  int count = 0;
  for (std::string line; std::getline(text, line);) count += line == sub_goal ? 1 : 0;
  return count;
}

TEST(CrashPoints, plan_runner_is_the_same_wherever_it_died) {
  const std::filesystem::path log = directory() / "executions.log";
  const std::string script = write_file("execute.sh",
                                        "document=$(cat)\n"
                                        "printf '%s\\n' \"$document\" | "
                                        "sed 's/.*\"sub_goal\":\"\\([^\"]*\\)\".*/\\1/' >> " +
                                            log.string() + "\necho '{\"ok\": true}'\n");
  const Json tools = {{"tools", {{"execute", {{"exec", {"/bin/sh", script}}}}}}};
  setenv("CAIRN_TOOLS", write_file("execute.json", tools.dump()).c_str(), 1);
  const PlannerCase a{"plan_runner",
                      R"({"goal": "a chain", "sub_goals": [{"id": "a", "tool": "execute", "inputs": {}},
                   {"id": "b", "tool": "execute", "inputs": {}, "after": ["a"]},
                   {"id": "c", "tool": "echo", "inputs": {"x": {"from_sub_goal": "b", "slot": "ok"}}},
                   {"id": "d", "tool": "no_such_tool", "inputs": {}},
                   {"id": "e", "tool": "execute", "inputs": {}, "after": ["c"]}]})"};
  std::map<std::string, int> closed;  // sub-goals on record when it died, and how often they had been executed
  const int crashes = crash_everywhere(
      a,
      [&](const std::string& run) {
        closed.clear();
        for (const Json& event : events_of(run))
          if (event["type"] == "sub_goal_closed") closed[event["sub_goal"]] = executions_in(log, event["sub_goal"]);
      },
      [&](const std::string&) {
        for (const auto& [sub_goal, executions] : closed)
          EXPECT_EQ(executions_in(log, sub_goal), executions) << sub_goal;
      });
  unsetenv("CAIRN_TOOLS");
  EXPECT_GE(crashes, 6);
}

}  // namespace
}  // namespace cairn::program
