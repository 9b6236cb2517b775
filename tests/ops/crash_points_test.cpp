// The process dies after every single commit of a run; another one goes on from there. What comes out is the same, and
// no call that was recorded is made again.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

std::string dsn() {
  static const std::string found = [] {
    Beside up({"up", "--workers", "1", "--json"});
    EXPECT_TRUE(wait_until([&] { return up.out().find("\"dsn\"") != std::string::npos; }));
    const Json line = Json::parse(up.out().substr(0, up.out().find('\n')));
    up.signal(SIGTERM);
    EXPECT_EQ(up.wait(), 0);
    return line["dsn"].get<std::string>();
  }();
  return found;
}

std::vector<Json> events_of(const std::string& run) { return cairn_ok({"events", run, "--json"}).lines(); }

// What must not depend on where the process died: all but ids, the numbers of steps and what was measured.
Json comparable(const std::string& run) {
  Json shown = cairn_ok({"show", run, "--json"}).json();
  for (const char* key : {"run", "seq"}) shown.erase(key);
  for (Json& goal : shown["plan"]) goal.erase("step");
  if (const Json::json_pointer task("/channels/task"); shown.contains(task)) shown[task].erase("id");  // the run's
  for (const char* at : {"/channels/result/stats", "/output/result/stats"})
    if (const Json::json_pointer stats(at); shown.contains(stats)) shown[stats].erase("elapsed_ms");
  return shown;
}

// What each step and each sub-goal left on record, of the kinds that stand for a call or a result.
std::map<std::string, int> records_of(const std::vector<Json>& events) {
  std::map<std::string, int> counts;
  for (const Json& event : events) {
    const std::string type = event["type"];
    if (type == "step_succeeded" || type == "model_called" || type == "tool_called")
      ++counts[type + " of step " + event.value("step", Json()).dump()];
    if (type == "sub_goal_closed") ++counts["sub_goal_closed " + event["sub_goal"].get<std::string>()];
  }
  return counts;
}

struct Case {
  std::string graph;
  std::string input;
  std::vector<std::string> answers = {};  // to its questions, in their order
};

std::string start_run(const Case& a) {
  return cairn_ok({"start", a.graph, "--input", a.input, "--json"}).json()["run"];
}

int crash_at(const std::string& run, std::int64_t event) {
  return run_program(testing::crash_worker(), {dsn(), run, std::to_string(event)}).exit;
}

// The case's next answer, if the run waits for one.
bool answer_next(const Case& a, const std::string& run) {
  const std::vector<Json> events = events_of(run);
  const auto is_answer = [](const Json& event) { return event["type"] == "question_answered"; };
  const auto answered = static_cast<std::size_t>(std::count_if(events.begin(), events.end(), is_answer));
  if (answered == a.answers.size() || events.back()["type"] != "question_asked") return false;
  cairn_ok({"answer", run, "--value", a.answers[answered]});
  return true;
}

// Executes the run to its end, or until it dies at the event; the exit code of the last worker.
int execute(const Case& a, const std::string& run, std::int64_t event) {
  int exit = crash_at(run, event);
  while (exit == 0 && answer_next(a, run)) exit = crash_at(run, event);
  return exit;
}

int executions_in(const std::filesystem::path& log, const std::string& sub_goal) {
  std::istringstream text(read_file(log));
  int count = 0;
  for (std::string line; std::getline(text, line);) count += line == sub_goal ? 1 : 0;
  return count;
}

// Dies after each event in turn, in a run of its own; the number of crashes.
int crash_everywhere(const Case& a, const std::function<void(const std::vector<Json>& before)>& crashed,
                     const std::function<void()>& ended) {
  const std::string whole = start_run(a);
  EXPECT_EQ(execute(a, whole, 0), 0);
  const Json expected = comparable(whole);
  const std::map<std::string, int> records = records_of(events_of(whole));
  int crashes = 0;
  for (std::int64_t event = 2;; ++crashes) {
    const std::string run = start_run(a);
    if (execute(a, run, event) != 137) return crashes;
    const std::vector<Json> before = events_of(run);
    crashed(before);
    EXPECT_EQ(execute(a, run, 0), 0);
    EXPECT_EQ(comparable(run), expected) << "after a crash at event " << event;
    EXPECT_EQ(records_of(events_of(run)), records) << "after a crash at event " << event;
    ended();
    event = static_cast<std::int64_t>(before.size()) + 1;
  }
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
  const Case a{"plan_runner",
               R"({"goal": "a chain", "sub_goals": [{"id": "a", "tool": "execute", "inputs": {}},
                   {"id": "b", "tool": "execute", "inputs": {}, "after": ["a"]},
                   {"id": "c", "tool": "echo", "inputs": {"x": {"from_sub_goal": "b", "slot": "ok"}}},
                   {"id": "d", "tool": "no_such_tool", "inputs": {}},
                   {"id": "e", "tool": "execute", "inputs": {}, "after": ["c"]}]})"};
  std::map<std::string, int> closed;  // sub-goals on record when it died, and how often they had been executed
  const int crashes = crash_everywhere(
      a,
      [&](const std::vector<Json>& before) {
        closed.clear();
        for (const Json& event : before)
          if (event["type"] == "sub_goal_closed") closed[event["sub_goal"]] = executions_in(log, event["sub_goal"]);
      },
      [&] {
        for (const auto& [sub_goal, executions] : closed)
          EXPECT_EQ(executions_in(log, sub_goal), executions) << sub_goal;
      });
  unsetenv("CAIRN_TOOLS");
  EXPECT_GE(crashes, 6);
}

TEST(CrashPoints, seven_node_is_the_same_wherever_it_died) {
  const Json input = {{"repository", (samples() / "gitlog" / "medusa-numstat.tsv").lexically_normal().string()},
                      {"question", "Who owns pricing AND tax?"}};
  const int crashes = crash_everywhere(
      {"seven_node", input.dump()}, [](const std::vector<Json>&) {}, [] {});
  EXPECT_GE(crashes, 7);
}

TEST(CrashPoints, plan_decomposer_is_the_same_wherever_it_died) {
  const Json input = {{"outline",
                       {"# Release", "## Freeze", "1. Announce", "2. Close", "   - Tell", "   - Protect (after Tell)",
                        "## Test (after Freeze)", "- Unit tests", "- Load test (after Nobody)"}}};
  const int crashes = crash_everywhere(
      {"plan_decomposer", input.dump()}, [](const std::vector<Json>&) {}, [] {});
  EXPECT_GE(crashes, 4) << "the beginning, and with each reply what follows from it";
}

// A client that brings its DOM and does what it is told; the rule book plans.
TEST(CrashPoints, page_agent_is_the_same_wherever_it_died) {
  const auto page = [](const std::string& rows, const std::string& form) {
    return "<button id=1>New patient</button><table>" + rows + "</table>" + form;
  };
  const auto form = [](const std::string& name) {
    return "<form label=\"New patient\"><input id=2 name=\"name\" value=\"" + name +
           "\"><button id=3>Save</button></form>";
  };
  const auto turn = [](const std::string& dom) { return Json{{"dom", dom}, {"url", "http://a/"}}.dump(); };
  const Json input = {
      {"goal", "Add a new patient with name Jas"}, {"client", true}, {"url", "http://a/"}, {"dom", page("", "")}};
  const int crashes = crash_everywhere(
      {"page_agent",
       input.dump(),
       {turn(page("", form(""))), turn(page("", form("Jas"))), turn(page("<tr><td>Jas</td></tr>", ""))}},
      [](const std::vector<Json>&) {}, [] {});
  EXPECT_GE(crashes, 12);
}

TEST(CrashPoints, round_planner_is_the_same_wherever_it_died) {
  cairn_ok({"dataset", "load"});
  const int crashes = crash_everywhere(
      {"round_planner", R"({"question": "How many orders were there in Berlin in March?"})"},
      [](const std::vector<Json>&) {}, [] {});
  EXPECT_GE(crashes, 9);
}

TEST(CrashPoints, venture_scope_is_the_same_wherever_it_died) {
  const Json input = {{"question", "How large is the market for e-bikes in Norland?"},
                      {"region", "Norland"},
                      {"currency", "EUR"},
                      {"fields", {{"core.product", "e-bikes"}}}};
  const int crashes = crash_everywhere(
      {"venture_scope", input.dump()}, [](const std::vector<Json>&) {}, [] {});
  EXPECT_GE(crashes, 9);
}

}  // namespace
}  // namespace cairn::program
