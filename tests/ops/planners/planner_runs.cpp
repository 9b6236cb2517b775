#include "tests/ops/planners/planner_runs.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// Asks for two tools at once, then answers with what they said.
testing::LoopbackServer::Reply model_reply(const testing::LoopbackServer::Request& request) {
  const Json messages = Json::parse(request.body())["messages"];
  Json message = {{"role", "assistant"}};
  if (messages.back()["role"] == "tool") {
    message["content"] = "They said " + messages.back()["content"].get<std::string>();
  } else {
    message["content"] = nullptr;
    for (const char* word : {"left", "right"})
      message["tool_calls"].push_back(
          {{"id", word},
           {"type", "function"},
           {"function", {{"name", "echo"}, {"arguments", Json{{"content", word}}.dump()}}}});
  }
  return {200, Json{{"model", "loopback"}, {"choices", {{{"message", message}}}}}.dump()};
}

std::int64_t answers_in(const std::vector<Json>& events) {
  return std::count_if(events.begin(), events.end(),
                       [](const Json& event) { return event["type"] == "question_answered"; });
}

// The case's next answer, if the run waits for one. A fork has had those of its origin up to that moment.
bool answer_next(const PlannerCase& a, const std::string& run) {
  const std::vector<Json> events = events_of(run);
  if (shown(run)["questions"].empty()) return false;
  std::int64_t answered = answers_in(events);
  if (const Json from = events.front().value("forked_from", Json()); !from.is_null()) {
    std::vector<Json> before = events_of(from["run"]);
    before.resize(from["seq"].get<std::size_t>());
    answered += answers_in(before);
  }
  if (answered >= static_cast<std::int64_t>(a.answers.size())) return false;
  cairn_ok({"answer", run, "--value", a.answers[static_cast<std::size_t>(answered)]});
  return true;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const PlannerCase& a) { return out << a.graph; }

PlannerCase seven_node_case() {
  const Json input = {{"repository", testing::source_dir() + "/tests/samples/gitlog/medusa-numstat.tsv"},
                      {"question", "Who owns pricing AND tax?"}};
  return {"seven_node", input.dump()};
}

PlannerCase plan_decomposer_case() {
  const Json input = {{"outline",
                       {"# Release", "## Freeze", "1. Announce", "2. Close", "   - Tell", "   - Protect (after Tell)",
                        "## Test (after Freeze)", "- Unit tests", "- Load test (after Nobody)"}}};
  return {"plan_decomposer", input.dump()};
}

// A task that names two tools is tried whole, broken down, and done by its parts side by side; a person looks on first.
PlannerCase plan_and_do_case() {
  const Json input = {{"outline", {"# Both sides", "## Both", "- echo {\"n\": 1}", "- sleep {\"ms\": 1}"}},
                      {"options", {{"max_depth", 0}}},
                      {"tools", {"echo", "sleep"}},
                      {"review", true}};
  return {"plan_and_do", input.dump(), {R"("run")"}};
}

// A client that brings its DOM and does what the planner asks; the rule book plans.
PlannerCase page_agent_case() {
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
  return {"page_agent",
          input.dump(),
          {turn(page("", form(""))), turn(page("", form("Jas"))), turn(page("<tr><td>Jas</td></tr>", ""))}};
}

PlannerCase round_planner_case() {
  static const bool loaded = cairn_ok({"dataset", "load"}).exit == 0;
  EXPECT_TRUE(loaded);
  return {"round_planner", R"({"question": "How many orders were there in Berlin in March?"})"};
}

PlannerCase venture_scope_case() {
  const Json input = {{"question", "How large is the market for e-bikes in Norland?"},
                      {"region", "Norland"},
                      {"currency", "EUR"},
                      {"fields", {{"core.product", "e-bikes"}}}};
  return {"venture_scope", input.dump()};
}

PlannerCase tool_agent_case() {
  const Json echo = {{"type", "function"}, {"function", {{"name", "echo"}, {"parameters", {{"type", "object"}}}}}};
  const Json input = {{"messages", {{{"role", "user"}, {"content", "Ask both sides."}}}}, {"tools", {echo}}};
  return {"tool_agent", input.dump(), {R"("Again.")", R"({"end": true})"}};
}

std::vector<PlannerCase> planner_cases() {
  return {seven_node_case(),    plan_decomposer_case(), page_agent_case(), venture_scope_case(),
          round_planner_case(), tool_agent_case(),      plan_and_do_case()};
}

PlannerCase overruled_case(const std::string& graph) {
  PlannerCase made = parallel_case(graph);
  const auto says = [](const char* node, Json value) { return Json{{"node", node}, {"value", std::move(value)}}; };
  if (graph == "seven_node") {
    Json input = Json::parse(made.input);
    input["question"] = "What is the weather in Tokyo?";
    made.input = input.dump();
  } else if (graph == "venture_scope") {
    made.replies = Json::array();  // so decide fails, and finish becomes calculate
  } else if (graph == "page_agent") {
    const Json step = {{"description", "Open the form"},
                       {"reasoning", "r"},
                       {"tool_type", "DOM"},
                       {"expected_outcome", "A form"},
                       {"phase", "entry"}};
    made.answers = {};
    made.replies = {says("planning", {{"steps", {step}}, {"contingencies", Json::array()}}),
                    says("step_refinement", {{"thought", "t"}, {"tool_type", "DOM"}, {"action", "click(99)"}}),
                    says("action_generation", {{"thought", "t"}, {"action", "click(1)"}})};
  } else if (graph == "round_planner") {
    const Json ghost = {{"id", "g"}, {"worker", "ghost"}, {"inputs", Json::object()}};
    made.replies[1] = says("plan_round", {{"action", "continue"}, {"reasoning", "r"}, {"sub_goals", {ghost}}});
  }
  return made;
}

// A tool of a server that asks who it is.
PlannerCase mcp_call_case() {
  const Json server = {"python3", testing::source_dir() + "/tests/workers/tools/mcp/small_server.py", "--calls",
                       (directory() / "asked").string()};
  PlannerCase made{"mcp_call", R"({"tool": "small.ask", "inputs": {}})", {R"({"name": "Ann"})"}};
  made.tools_file = write_file("asking_tools.json", Json{{"tools", {{"small", {{"mcp", server}}}}}}.dump()).string();
  return made;
}

PlannerCase asking_case(const std::string& graph) {
  PlannerCase made;
  for (PlannerCase& one : planner_cases())
    if (one.graph == graph) made = std::move(one);
  if (graph == "venture_scope") {
    made.input = Json{{"question", "How large is the market?"}}.dump();
    made.answers = {R"("Norland")", R"("EUR")", "7", R"("e-bikes")"};  // a product that is no text is asked for again
  } else if (graph == "round_planner") {
    made.input = Json{{"question", "What about Berlin?"}, {"clarify", "ask"}}.dump();
    made.answers = {R"("How many orders were there in Berlin in March?")"};
  } else if (graph == "plan_and_do") {
    Json input = Json::parse(made.input);
    input["no_tool"] = "ask";  // what becomes of the task that names two
    made.input = input.dump();
    made.answers.push_back(R"({"outputs": {"both": true}})");
  } else if (graph == "mcp_call") {
    made = mcp_call_case();
  }
  return made;
}

PlannerCase parallel_case(const std::string& graph) {
  PlannerCase made;
  for (PlannerCase& one : planner_cases())
    if (one.graph == graph) made = std::move(one);
  if (graph != "round_planner") return made;
  const auto says = [](const char* node, Json value) { return Json{{"node", node}, {"value", std::move(value)}}; };
  Json goals = Json::array();
  for (const char* id : {"a", "b", "c"}) goals.push_back({{"id", id}, {"worker", "give"}, {"inputs", {{"for", id}}}});
  const Json used = {{"r", {{"from_sub_goal", "b"}, {"slot", "v"}}}};
  made.replies = {says("understand_goal", {{"kind", "count"}, {"references", {"orders"}}, {"reason", "Clear."}}),
                  says("plan_round", {{"action", "continue"}, {"reasoning", "r"}, {"sub_goals", goals}}),
                  says("plan_round", {{"action", "done"}, {"reasoning", "r"}, {"synthesis_inputs", used}}),
                  says("synthesize", {{"answer", "Five."}})};
  return made;
}

EnvironmentVariable::EnvironmentVariable(std::string name, const std::string& value) : name_(std::move(name)) {
  if (const char* before = std::getenv(name_.c_str())) before_ = before;
  setenv(name_.c_str(), value.c_str(), 1);
}

EnvironmentVariable::~EnvironmentVariable() {
  if (before_)
    setenv(name_.c_str(), before_->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

ToolAgentModel::ToolAgentModel() : server_(model_reply) {
  setenv("CAIRN_MODEL_URL", server_.url("/v1").c_str(), 1);
  setenv("CAIRN_MODEL", "loopback", 1);
}

ToolAgentModel::~ToolAgentModel() {
  unsetenv("CAIRN_MODEL_URL");
  unsetenv("CAIRN_MODEL");
}

const std::string& dsn() {
  static const std::string found = [] {
    // A database that ops/cluster has made, for every command from here on.
    if (const char* given = std::getenv("CAIRN_TEST_DSN")) {
      setenv("CAIRN_DSN", given, 1);
      return std::string(given);
    }
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

Json shown(const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); }

Json comparable(const std::string& run) {
  Json state = shown(run);
  for (const char* key : {"run", "seq", "forked_from", "started_at", "updated_at"}) state.erase(key);
  for (Json& goal : state["plan"]) goal.erase("step");
  if (const Json::json_pointer task("/channels/task"); state.contains(task)) state[task].erase("id");  // the run's
  for (const char* at : {"/channels/result/stats", "/output/result/stats"})
    if (const Json::json_pointer stats(at); state.contains(stats)) state[stats].erase("elapsed_ms");
  return state;
}

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

std::string start_run(const PlannerCase& a) {
  dsn();
  return cairn_ok({"start", a.graph, "--input", a.input, "--json"}).json()["run"];
}

int work_until(const PlannerCase& a, const std::string& run, std::int64_t event) {
  if (!a.tools_file.empty()) {
    const EnvironmentVariable use_its_tools("CAIRN_TOOLS", a.tools_file);
    return work_until(run, event);
  }
  if (a.replies.is_null()) return work_until(run, event);
  static const std::string tools = write_file("planner_tools.json", Json::parse(R"({"tools": {"give":
    {"exec": ["/bin/echo", "{\"v\": 5}"], "gives": ["v"], "about": "Gives five."}}})")
                                                                        .dump());
  const EnvironmentVariable use_tools("CAIRN_TOOLS", tools);
  const EnvironmentVariable use_script(
      "CAIRN_MODEL_SCRIPT", write_file(a.graph + "_replies.json", Json{{"replies", a.replies}}.dump()).string());
  return work_until(run, event);
}

int work_until(const std::string& run, std::int64_t event) {
  return run_program(testing::crash_worker(), {dsn(), run, std::to_string(event)}).exit;
}

int execute(const PlannerCase& a, const std::string& run, std::int64_t event) {
  int exit = work_until(a, run, event);
  while (exit == 0 && answer_next(a, run)) exit = work_until(a, run, event);
  return exit;
}

int crash_everywhere(const PlannerCase& a, const std::function<void(const std::string& run)>& crashed,
                     const std::function<void(const std::string& run)>& ended) {
  const std::string whole = start_run(a);
  EXPECT_EQ(execute(a, whole), 0);
  const Json expected = comparable(whole);
  const std::map<std::string, int> records = records_of(events_of(whole));
  int crashes = 0;
  for (std::int64_t event = 2;; ++crashes) {
    const std::string run = start_run(a);
    if (execute(a, run, event) != 137) return crashes;
    const auto head = static_cast<std::int64_t>(events_of(run).size());
    crashed(run);
    EXPECT_EQ(execute(a, run), 0);
    EXPECT_EQ(comparable(run), expected) << "after a crash at event " << event;
    EXPECT_EQ(records_of(events_of(run)), records) << "after a crash at event " << event;
    ended(run);
    event = head + 1;
  }
}

}  // namespace cairn::program
