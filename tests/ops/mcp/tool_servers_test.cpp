// MCP servers in the tools file, through the program: what workers declare, a call that outlives its worker, and what
// stands on record.
#include <fstream>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

// A tools file with small_server.py as "small", whose files begin with CALLS.
struct SmallTools {
  explicit SmallTools(const std::string& name, Json more = Json::object()) {
    calls = (directory() / name).string();
    more["mcp"] = {"python3", testing::source_dir() + "/tests/workers/tools/mcp/small_server.py", "--calls", calls};
    file = write_file(name + ".json", Json{{"tools", {{"small", more}}}}.dump());
  }
  std::string calls;
  std::string file;
};

Json started(const std::string& graph, const Json& input) {
  return cairn_ok({"start", graph, "--input", input.dump(), "--json"}).json();
}

std::string status_of(const std::string& run) { return cairn_ok({"show", run, "--json"}).json()["status"]; }

TEST(McpTools, a_worker_declares_the_tools_of_its_servers_with_their_schemas) {
  const SmallTools tools("declared", {{"queue", "far"}});
  const Beside working({"work", "--tools", tools.file});
  const auto declared = [] {
    for (const Json& worker : cairn_ok({"workers", "--json"}).lines())
      if (worker.contains("declares") && worker["declares"].is_object())
        for (const Json& tool : worker["declares"]["tools"])
          if (tool["name"] == "small.echo") return tool;
    return Json();
  };
  ASSERT_TRUE(wait_until([&] { return !declared().is_null(); })) << working.err();
  EXPECT_EQ(declared()["queue"], "far");
  EXPECT_EQ(declared()["schema"]["required"], Json::array({"text"}));
  EXPECT_EQ(declared()["about"], "Gives a text back. It takes text (string).");
}

TEST(McpTools, a_server_that_cannot_be_used_keeps_a_worker_from_starting) {
  const std::string server = testing::source_dir() + "/tests/workers/tools/mcp/small_server.py";
  const Json bad = {{"tools", {{"many", {{"mcp", {"python3", server, "--bad", "many"}}}}}}};
  const std::string tools = write_file("many.json", bad.dump());
  expect_refused(cairn({"work", "--tools", tools}), 5, "at most 1000 tools");
  cairn_ok({"start", "plan_runner", "--tools", tools, "--input", "{}"});  // without a worker no server is needed
}

TEST(McpTools, an_attempt_that_died_with_its_server_is_made_again_with_the_same_key) {
  const SmallTools tools("dying");
  const Json input = {{"goal", "die"},
                      {"sub_goals", {{{"id", "a"}, {"tool", "small.die"}, {"inputs", Json::object()}}}}};
  const Ran ran = cairn({"start", "plan_runner", "--tools", tools.file, "--input", input.dump(), "--wait", "--json"});
  EXPECT_EQ(ran.json()["output"]["results"]["a"]["text"], "alive") << ran.out << ran.err;
  std::ifstream calls(tools.calls);
  std::string first, second;
  ASSERT_TRUE(std::getline(calls, first) && std::getline(calls, second));
  EXPECT_EQ(Json::parse(first)["key"], Json::parse(second)["key"]);
}

TEST(McpCallGraph, a_question_of_a_server_outlives_the_worker_and_its_answer_reaches_another_one) {
  const SmallTools tools("asking");
  const std::string run = started("mcp_call", {{"tool", "small.ask"}, {"inputs", Json::object()}})["run"];
  {
    Beside first({"work", "--tools", tools.file});
    ASSERT_TRUE(wait_until([&] { return status_of(run) == "waiting"; })) << first.err();
    first.signal(SIGKILL);
    first.wait();
  }
  const Json questions = cairn_ok({"show", run, "--json"}).json()["questions"];
  EXPECT_EQ(questions.at(0)["prompt"], "Who is it?");
  cairn_ok({"answer", run, "--value", R"({"name": "Ann"})"});
  const Beside second({"work", "--tools", tools.file});
  ASSERT_TRUE(wait_until([&] { return status_of(run) == "done"; })) << second.err();
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["output"]["text"],
            R"(hello {"action": "accept", "content": {"name": "Ann"}})");
}

TEST(McpCallGraph, a_task_of_a_server_outlives_the_worker) {
  const SmallTools tools("tasking");
  const std::string run = started("mcp_call", {{"tool", "small.task"}})["run"];
  {
    Beside first({"work", "--tools", tools.file});
    ASSERT_TRUE(wait_until([&] { return fs::exists(tools.calls + ".task"); })) << first.err();
    first.signal(SIGKILL);
    first.wait();
  }
  std::ofstream(tools.calls + ".go") << "x";
  const Beside second({"work", "--tools", tools.file});
  ASSERT_TRUE(wait_until([&] { return status_of(run) == "done"; })) << second.err();
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["output"]["text"], "after a while");
}

// The script of a model that says these messages, one after the other, to each worker that is started with it.
std::string script_of(const Json& messages) {
  Json replies = Json::array();
  for (const Json& message : messages) replies.push_back({{"reply", message}});
  return write_file("mcp.script.json", Json{{"replies", replies}}.dump()).string();
}

Json tool_call(const std::string& id, const std::string& name, const Json& arguments) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments.dump()}}}};
}

TEST(McpToolAgent, issue_22_6_a_question_of_a_server_outlives_the_worker_and_the_model_reads_what_the_answer_gave) {
  const SmallTools tools("asked_by_a_model");
  const Json calls = {{"role", "assistant"},
                      {"content", nullptr},
                      {"tool_calls",
                       {tool_call("c1", "small.echo", {{"text", "one"}}), tool_call("c2", "small.ask", Json::object()),
                        tool_call("c3", "small.echo", {{"text", "three"}})}}};
  const Json what_else = {{"role", "assistant"}, {"content", "What else?"}};
  const auto shown = [](const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); };
  const std::string run = started("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}})["run"];
  std::string called;
  {
    const Variable script("CAIRN_MODEL_SCRIPT", script_of({calls, what_else}));
    Beside first({"work", "--tools", tools.file});
    ASSERT_TRUE(wait_until([&] {
      const Json children = shown(run).value("children", Json::array());
      if (!children.empty()) called = children[0]["run"].get<std::string>();
      return !called.empty() && status_of(called) == "waiting";
    })) << first.err();
    first.signal(SIGKILL);
    first.wait();
  }
  const std::vector<Json> inbox = cairn_ok({"questions", "--parent", run, "--json"}).lines();
  ASSERT_EQ(inbox.size(), 1u);
  EXPECT_EQ(inbox[0]["run"], called);
  EXPECT_EQ(inbox[0]["prompt"], "Who is it?");
  cairn_ok({"answer", called, "--value", R"({"name": "Ann"})"});
  const Variable script("CAIRN_MODEL_SCRIPT", script_of(Json::array({what_else})));
  const Beside second({"work", "--tools", tools.file});
  ASSERT_TRUE(wait_until([&] { return !shown(run)["questions"].empty(); })) << second.err();
  const Json messages = shown(run)["channels"]["messages"];
  ASSERT_EQ(messages.size(), 6u) << messages;
  EXPECT_EQ(messages[2]["content"], R"({"text":"one"})");
  EXPECT_EQ(messages[3]["tool_call_id"], "c2");
  EXPECT_EQ(Json::parse(messages[3]["content"].get<std::string>())["text"],
            R"(hello {"action": "accept", "content": {"name": "Ann"}})");
  EXPECT_EQ(messages[4]["content"], R"({"text":"three"})");
  EXPECT_EQ(messages[5], what_else);
}

}  // namespace
}  // namespace cairn::program
