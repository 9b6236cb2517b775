// The plain agent loop on recorded conversations: the model, the tools and the person repeat what they once said.
#include <boost/asio/awaitable.hpp>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "tests/paths.hpp"
#include "tests/workers/planners/planner_run.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

using test::PlannerRun;
using Turns = std::vector<Json>;

Json episodes() {
  std::ifstream file(testing::samples() + "/trajectories/tau-airline-gpt-4o.json");
  return Json::parse(file);
}

// Answers messages that equal a recorded beginning with the next recorded message, and refuses all others.
std::unique_ptr<Model> recorded_model(const Turns& turns) {
  return make_rule_model("recorded", [turns](const ModelRequest& request) -> ModelAnswer {
    const std::size_t count = request.messages.size();
    if (count >= turns.size() ||
        request.messages != Json(Turns(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(count)))) {
      return Failure{"refused", "Expected a recorded beginning, but got " + excerpt(request.messages, 2000), false, {}};
    }
    ModelReply reply;
    reply.message = turns[count];
    return reply;
  });
}

// The recorded answer of each call, by tool and arguments, in order.
std::unique_ptr<Tools> recorded_tools(const Turns& turns) {
  std::map<std::string, std::vector<std::string>> answers;
  for (std::size_t i = 0; i + 1 < turns.size(); ++i) {
    const Json calls = turns[i].value("tool_calls", Json::array());
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const Json& function = calls[c]["function"];
      const Json arguments = Json::parse(function["arguments"].get<std::string>());
      answers[function["name"].get<std::string>() + canonical(arguments)].push_back(turns[i + 1 + c]["content"]);
    }
  }
  auto left = std::make_shared<std::map<std::string, std::vector<std::string>>>(std::move(answers));
  std::vector<ToolSpec> specs;
  for (const auto& [key, texts] : *left) {
    ToolSpec spec;
    spec.name = key.substr(0, key.find('{'));
    spec.does = NativeTool([left](const ToolCall& call) -> ToolAnswer {
      std::vector<std::string>& mine = (*left)[call.tool + canonical(call.inputs)];
      if (mine.empty()) return Failure{"error", "Expected a recorded call, but got another.", false, {}};
      const std::string text = mine.front();
      mine.erase(mine.begin());
      return Json{{"content", text}};
    });
    specs.push_back(std::move(spec));
  }
  return make_tools(std::move(specs), 1);
}

TEST(ToolAgent, recorded_conversations_are_had_again_word_by_word) {
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  for (const Json& episode : episodes()) {
    const Turns turns = episode["traj"].get<Turns>();
    PlannerRun planner(recorded_model(turns), recorded_tools(turns));
    const RunId run = planner.run("tool_agent", {{"messages", Turns(turns.begin(), turns.begin() + 2)}});
    for (std::size_t at = 2; at < turns.size(); ++at) {
      if (turns[at]["role"] != "user") continue;
      ASSERT_EQ(planner.state(run).status, RunStatus::running) << planner.state(run).reason;
      ASSERT_EQ(planner.state(run).questions.size(), 1U);
      EXPECT_EQ(planner.state(run).questions.begin()->second.kind, "message");
      const Json value = at + 1 == turns.size() ? Json{{"end", true}} : turns[at]["content"];
      const Result<Done> answered = planner.client().command(run, Answer{"", value, "person", {}});
      ASSERT_TRUE(answered.ok()) << answered.error().message;
      planner.work(run);
    }
    EXPECT_EQ(planner.state(run).status, RunStatus::done);
    EXPECT_EQ(planner.output(run)["messages"], Json(Turns(turns.begin(), turns.end() - 1)));
  }
}

Json tool_call(const std::string& id, const std::string& name, const std::string& arguments) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

TEST(ToolAgent, calls_run_side_by_side_and_come_back_in_their_order_whatever_became_of_them) {
  const Json call = {{"role", "assistant"},
                     {"content", nullptr},
                     {"tool_calls",
                      {tool_call("c1", "echo", R"({"content": "hello"})"), tool_call("c2", "nobody", "{}"),
                       tool_call("c3", "echo", "{bad"), tool_call("c4", "echo", R"({"b": 1})"),
                       tool_call("c5", "fail", R"({"message": "broken", "times": 9})")}}};
  const Json end = {{"role", "assistant"}, {"content", "What else?"}};
  PlannerRun planner(make_scripted_model({{"replies", {{{"reply", call}}, {{"reply", end}}}}}));
  const RunId run = planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}});
  const Json messages = planner.channel(run, "messages");
  ASSERT_EQ(messages.size(), 8U);
  EXPECT_EQ(messages[1], call) << "kept as it came";
  const std::vector<std::string> contents = {
      "hello", "Error: Expected a known tool, but there is no tool nobody.",
      "Error: Expected the arguments to be JSON, but found invalid literal at byte 2.", R"({"b":1})", "Error: broken"};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    EXPECT_EQ(messages[2 + i]["role"], "tool");
    EXPECT_EQ(messages[2 + i]["tool_call_id"], "c" + std::to_string(i + 1));
    EXPECT_EQ(messages[2 + i]["content"], contents[i]);
  }
}

// H4: "deploy" stands for any tool that the worker has and the run does not offer.
TEST(ToolAgent, a_model_reaches_only_the_tools_that_its_run_offers) {
  const Json offered = Json::parse(R"([{"type": "function", "function": {"name": "echo"}}])");
  const Json call = {{"role", "assistant"},
                     {"content", nullptr},
                     {"tool_calls",
                      {tool_call("c1", "echo", R"({"content": "hello"})"),
                       tool_call("c2", "fail", R"({"message": "reached", "times": 9})")}}};
  const Json end = {{"role", "assistant"}, {"content", "What else?"}};
  for (const Json& tools : {offered, Json::array()}) {
    PlannerRun planner(make_scripted_model({{"replies", {{{"reply", call}}, {{"reply", end}}}}}));
    const RunId run =
        planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}, {"tools", tools}});
    EXPECT_EQ(planner.events(run, "tool_called").size(), tools.size()) << tools;
    EXPECT_EQ(planner.events(run, "sub_goal_rejected").size(), 2 - tools.size()) << tools;
    EXPECT_EQ(planner.channel(run, "messages")[3]["content"],
              "Error: Expected a tool that the run offers, but \"fail\" is not among them.");
  }
}

TEST(ToolAgent, arguments_that_stand_for_no_object_reach_no_tool) {
  const Json call = {{"role", "assistant"},
                     {"content", nullptr},
                     {"tool_calls",
                      {tool_call("c1", "fail", R"({"from_sub_goal": "2.2", "slot": "content"})"),
                       tool_call("c2", "echo", R"({"content": "hello"})")}}};
  const Json end = {{"role", "assistant"}, {"content", "What else?"}};
  PlannerRun planner(make_scripted_model({{"replies", {{{"reply", call}}, {{"reply", end}}}}}));
  const RunId run = planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}});
  EXPECT_EQ(planner.channel(run, "messages")[2]["content"],
            R"(Error: Expected the inputs of tool fail to be a JSON object, but they are "hello".)");
  EXPECT_EQ(planner.events(run, "tool_called").size(), 1U);
}

TEST(ToolAgent, a_reply_without_a_role_is_asked_for_again_before_a_tool_runs) {
  const Json call = {{"content", nullptr}, {"tool_calls", {tool_call("c1", "echo", R"({"content": "hello"})")}}};
  const Json end = {{"role", "assistant"}, {"content", "What else?"}};
  PlannerRun planner(make_scripted_model({{"replies", {{{"reply", call}}, {{"reply", end}}}}}));
  const RunId run = planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}});
  EXPECT_EQ(planner.state(run).status, RunStatus::running) << planner.state(run).reason;
  EXPECT_TRUE(planner.events(run, "tool_called").empty());
  EXPECT_EQ(planner.channel(run, "messages")[1], end);
}

TEST(ToolAgent, an_empty_reply_is_asked_for_again_and_never_kept) {
  const Json end = {{"role", "assistant"}, {"content", "What else?"}};
  for (const Json& content : {Json(), Json(""), Json(" \n"), Json::array()}) {
    const Json empty = {{"role", "assistant"}, {"content", content}, {"tool_calls", Json::array()}};
    PlannerRun planner(make_scripted_model({{"replies", {{{"reply", empty}}, {{"reply", end}}}}}));
    const RunId run = planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}});
    const std::vector<Json> failed = planner.events(run, "step_failed");
    ASSERT_EQ(failed.size(), 1U) << content;
    EXPECT_EQ(failed[0]["error"], "bad_reply");
    const Json messages = planner.channel(run, "messages");
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[1], end);
  }
}

TEST(ToolAgent, input_without_messages_fails_the_run_with_a_sentence) {
  PlannerRun planner(make_scripted_model({{"replies", Json::array()}}));
  const RunId run = planner.run("tool_agent", Json::object());
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_NE(planner.state(run).reason.find("Expected the input to have a list of chat messages"), std::string::npos);
}

// --- decompose
// --------------------------------------------------------------------------------------------------------- The
// conversation is a script; a task is broken down into two, or fails where its text says so.
std::unique_ptr<Model> conversation_that_decomposes(std::vector<Json> replies) {
  auto left = std::make_shared<std::vector<Json>>(std::move(replies));
  return make_rule_model("desk", [left](const ModelRequest& request) -> ModelAnswer {
    ModelReply made;
    if (request.schema_name != "decomposition") {
      made.message = left->front();
      left->erase(left->begin());
      return made;
    }
    const Json data = Json::parse(request.messages.back()["content"].get<std::string>());
    Json children = Json::array();
    for (const char* name : {"first", "second"}) children.push_back({{"name", name}, {"instruction", "Do it."}});
    made.value = {{"target_node_id", data["target_task"]["id"]},
                  {"mode", data["mode_hint"]},
                  {"should_stop", false},
                  {"reason", "So it is."},
                  {"children", std::move(children)}};
    return made;
  });
}

Json says_calls(std::vector<Json> calls) {
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", std::move(calls)}};
}
const Json what_else = {{"role", "assistant"}, {"content", "What else?"}};

// Works until the run waits for a person, and the runs it called have ended.
void work_with_called_runs(PlannerRun& planner, const RunId& run) {
  for (int round = 0; round < 20 && planner.state(run).questions.empty(); ++round) {
    planner.work(run);
    for (const Json& started : planner.events(run, "child_started"))
      planner.work(*parse_run_id(started["child"].get<std::string>()));
  }
  EXPECT_FALSE(planner.state(run).questions.empty()) << planner.state(run).reason;
}

TEST(ToolAgent, S1_04_the_model_may_have_a_task_broken_down_and_gets_the_sub_tasks) {
  PlannerRun planner(
      conversation_that_decomposes({says_calls({tool_call("c1", "decompose", R"({"task": "Move house"})"),
                                                tool_call("c2", "echo", R"({"content": "hello"})"),
                                                tool_call("c3", "decompose", R"({"task": "Paint it", "levels": 2})")}),
                                    what_else}));
  const Json echo = Json::parse(R"({"type": "function", "function": {"name": "echo"}})");
  const RunId run = planner.start(
      "tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}, {"tools", {"decompose", echo}}});
  work_with_called_runs(planner, run);
  const Json offered = planner.model().of("turn").at(0).tools;
  ASSERT_EQ(offered.size(), 2U);
  EXPECT_EQ(offered[0]["function"]["name"], "decompose");
  EXPECT_EQ(offered[0]["function"]["parameters"]["required"], (Json{"task"}));
  const Json messages = planner.channel(run, "messages");
  ASSERT_EQ(messages.size(), 6U);
  const auto tasks_of = [&messages](std::size_t place) {
    return Json::parse(messages[place]["content"].get<std::string>())["result"]["created_tasks"];
  };
  EXPECT_EQ(messages[2]["tool_call_id"], "c1");
  ASSERT_EQ(tasks_of(2).size(), 2U);
  EXPECT_EQ(tasks_of(2)[0]["name"], "first");
  EXPECT_EQ(messages[3]["content"], "hello");
  EXPECT_EQ(tasks_of(4).size(), 6U) << "two levels: children and grandchildren";
  EXPECT_EQ(planner.events(run, "child_started").size(), 2U);
  EXPECT_EQ(planner.events(run, "sub_goal_opened").size(), 1U) << "the call of echo";
}

TEST(ToolAgent, a_decomposition_that_cannot_be_reaches_the_model_as_an_error) {
  PlannerRun planner(conversation_that_decomposes(
      {says_calls({tool_call("c1", "decompose", "{}"), tool_call("c2", "decompose", "{bad")}), what_else}));
  const RunId run =
      planner.start("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}, {"tools", {"decompose"}}});
  work_with_called_runs(planner, run);
  const Json messages = planner.channel(run, "messages");
  const std::string says = "Expected a plan, an outline or a goal, but there is none of them.";
  EXPECT_EQ(messages[2]["content"].get<std::string>().find("Error: "), 0U) << messages[2]["content"];
  EXPECT_NE(messages[2]["content"].get<std::string>().find(says), std::string::npos) << messages[2]["content"];
  EXPECT_EQ(messages[3]["content"], "Error: Expected the arguments to be JSON, but found invalid literal at byte 2.");
}

TEST(ToolAgent, decompose_is_there_only_where_the_run_offers_it) {
  const Json echo = Json::parse(R"([{"type": "function", "function": {"name": "echo"}}])");
  for (const Json& tools : {echo, Json()}) {
    PlannerRun planner(conversation_that_decomposes(
        {says_calls({tool_call("c1", "decompose", R"({"task": "Move house"})")}), what_else}));
    const RunId run =
        planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}, {"tools", tools}});
    EXPECT_EQ(planner.model().requests.at(0).tools, tools);
    EXPECT_EQ(planner.channel(run, "messages")[2]["content"].get<std::string>().find("Error: Expected a"), 0U);
    EXPECT_TRUE(planner.events(run, "child_started").empty());
  }
}

TEST(ToolAgent, a_name_that_is_no_function_of_the_graph_is_refused) {
  PlannerRun planner(conversation_that_decomposes({what_else}));
  const RunId run =
      planner.run("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}, {"tools", {"compose"}}});
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_NE(planner.state(run).reason.find("as \"tools\""), std::string::npos) << planner.state(run).reason;
}

// --- plan_runner -----------------------------------------------------------------------------------------------------
TEST(PlanRunner, reports_on_every_sub_goal) {
  PlannerRun planner(make_scripted_model({{"replies", Json::array()}}));
  const Json goals = Json::parse(R"([
    {"id": "a", "tool": "echo", "inputs": {"x": 1}},
    {"id": "b", "tool": "echo", "inputs": {"y": {"from_sub_goal": "a", "slot": "x"}}, "after": []},
    {"id": "c", "tool": "nobody"}, {"id": "d", "tool": "echo", "after": ["c"]},
    {"id": "e", "tool": "fail", "inputs": {"message": "broken", "times": 9}}, {"id": "f", "tool": "echo", "after": ["e"]},
    {"id": "a", "tool": "echo"}])");
  const RunId run = planner.run("plan_runner", {{"goal", "all of it"}, {"sub_goals", goals}});
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_EQ(planner.state(run).reason, "Expected every sub-goal to succeed, but 4 failed and 1 were skipped.");
  const Json output = planner.output(run);
  EXPECT_EQ(output["results"], (Json{{"a", {{"x", 1}}}, {"b", {{"y", 1}}}}));
  EXPECT_EQ(output["skipped"], Json::array({"f"}));
  EXPECT_EQ(output["failed"]["e"], "broken");
  EXPECT_EQ(output["failed"]["c"], "Expected a known tool, but there is no tool nobody.");
  for (const char* id : {"a", "d"}) EXPECT_TRUE(output["failed"].contains(id)) << id;
}

TEST(PlanRunner, a_sound_plan_ends_done) {
  PlannerRun planner(make_scripted_model({{"replies", Json::array()}}));
  const RunId run = planner.run("plan_runner", {{"sub_goals", {{{"id", "a"}, {"tool", "echo"}}}}});
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  EXPECT_EQ(planner.output(run),
            (Json{{"results", {{"a", Json::object()}}}, {"failed", Json::object()}, {"skipped", Json::array()}}));
}

TEST(PlanRunner, a_malformed_plan_fails_the_run_with_a_sentence) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json::object(), "Expected the input to have a list of sub_goals, but it is null."},
      {{{"sub_goals", {{{"tool", "echo"}}}}}, "Expected sub-goal 1 of the input to have an id"},
      {{{"sub_goals", {{{"id", "a"}}}}}, "Expected sub-goal 1 of the input to name a tool"},
      {{{"sub_goals", Json::array({7})}}, "Expected sub-goal 1 of the input to be an object"},
      {{{"sub_goals", {{{"id", "a"}, {"tool", "echo"}, {"after", "b"}}}}}, "to have a list of ids as after"}};
  for (const auto& [input, sentence] : cases) {
    PlannerRun planner(make_scripted_model({{"replies", Json::array()}}));
    const RunId run = planner.run("plan_runner", input);
    EXPECT_EQ(planner.state(run).status, RunStatus::failed);
    EXPECT_NE(planner.state(run).reason.find(sentence), std::string::npos) << planner.state(run).reason;
  }
}

}  // namespace
}  // namespace cairn
