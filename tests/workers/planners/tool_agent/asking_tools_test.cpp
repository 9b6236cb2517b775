// Tools of the plain agent loop that ask a person while the model waits for them: their questions, and what the model
// reads in the end.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/workers/planners/planner_run.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

using test::PlannerRun;

using Calls = std::vector<Json>;  // the inputs of each call of mcp.call

// `desk.ask` asks a person, as a tool of an MCP server does, and `mcp.call` makes its call in parts: the question, and
// after it the greeting of who was entered, or a refusal for "no one".
std::unique_ptr<Tools> tools_that_ask(const std::shared_ptr<Calls>& parts) {
  std::vector<ToolSpec> specs = builtin_tools();
  ToolSpec ask;
  ask.name = "desk.ask";
  ask.does = ToolSpec::Instant{[](const ToolCall&) -> ToolAnswer {
    return Failure{"input_required", "It asks a person.", false, {}};
  }};
  specs.push_back(std::move(ask));
  ToolSpec part;
  part.name = "mcp.call";
  part.does = ToolSpec::Instant{[parts](const ToolCall& call) -> ToolAnswer {
    parts->push_back(call.inputs);
    const Json entered = call.inputs["entered"];
    if (call.inputs["previous"].is_null())
      return Json{{"state", "asks"},
                  {"prompt", "Who is " + call.inputs["arguments"]["who"].get<std::string>() + "?"},
                  {"schema", {{"type", "string"}}},
                  {"previous", {{"requests", 1}}}};
    if (entered == "no one") return Failure{"error", "There is no such person.", false, {}};
    return Json{{"state", "complete"}, {"outputs", {{"text", "Hello " + entered.get<std::string>()}}}};
  }};
  specs.push_back(std::move(part));
  return make_tools(std::move(specs), 1);
}

Json asking_call(const std::string& id, const std::string& name, const Json& arguments) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments.dump()}}}};
}

Json makes_calls(std::vector<Json> calls) {
  return {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", std::move(calls)}};
}

class AskingTools : public ::testing::Test {
 protected:
  // A conversation whose model says this, and then "What else?", until it waits.
  void begin(const std::vector<Json>& says, Options options = {}) {
    Json replies = Json::array();
    for (const Json& one : says) replies.push_back({{"reply", one}});
    replies.push_back({{"reply", {{"role", "assistant"}, {"content", "What else?"}}}});
    planner_ = std::make_unique<PlannerRun>(make_scripted_model({{"replies", replies}}), tools_that_ask(parts_));
    run_ = planner_->start("tool_agent", {{"messages", {{{"role", "user"}, {"content", "Go."}}}}}, {}, options);
    go_on();
  }

  // As far as it can go, and so the runs that it called.
  void go_on() {
    planner_->work(run_);
    for (const RunId& called : called_runs()) planner_->work(called);
    planner_->work(run_);
  }

  std::vector<RunId> called_runs() {
    std::vector<RunId> runs;
    for (const Json& started : planner_->events(run_, "child_started"))
      runs.push_back(*parse_run_id(started["child"].get<std::string>()));
    return runs;
  }

  // The called runs that ask now, by their prompts.
  std::map<std::string, RunId> asking() {
    std::map<std::string, RunId> runs;
    for (const RunId& run : called_runs()) {
      const RunState state = planner_->state(run);
      if (is_ended(state.status)) continue;
      for (const auto& [id, question] : state.questions) runs[question.prompt.get<std::string>()] = run;
    }
    return runs;
  }

  void answer(const std::string& prompt, const std::string& value) {
    const std::map<std::string, RunId> runs = asking();
    ASSERT_TRUE(runs.contains(prompt)) << prompt;
    const Result<Done> answered = planner_->client().command(runs.at(prompt), Answer{"", value, "person", {}});
    ASSERT_TRUE(answered.ok()) << answered.error().message;
    planner_->work(runs.at(prompt));
    go_on();
  }

  // The contents of the messages of role tool, each with the id of its call.
  std::vector<std::string> results() {
    const bool has_ended = is_ended(planner_->state(run_).status);
    const Json messages = has_ended ? planner_->output(run_)["messages"] : planner_->channel(run_, "messages");
    std::vector<std::string> found;
    for (const Json& message : messages)
      if (message["role"] == "tool")
        found.push_back(message["tool_call_id"].get<std::string>() + " " + message["content"].get<std::string>());
    return found;
  }

  std::shared_ptr<Calls> parts_ = std::make_shared<Calls>();
  std::unique_ptr<PlannerRun> planner_;
  RunId run_;
};

TEST_F(AskingTools, issue_22_6_a_question_of_a_tool_is_one_of_a_called_run_and_its_answer_reaches_the_tool) {
  const Json arguments = {{"who", "it"}, {"note", "$messages {{reply}}"}};
  begin({makes_calls({asking_call("c1", "echo", {{"content", "one"}}), asking_call("c2", "desk.ask", arguments),
                      asking_call("c3", "echo", {{"content", "three"}})})});
  EXPECT_TRUE(planner_->state(run_).questions.empty());
  EXPECT_TRUE(results().empty()) << "the model waits for all of its calls";
  ASSERT_EQ(called_runs().size(), 1U) << "the others are not made again";
  const RunState called = planner_->state(called_runs()[0]);
  EXPECT_EQ(called.graph->name, "mcp_call");
  ASSERT_TRUE(called.parent);
  EXPECT_EQ(called.parent->run, run_);
  answer("Who is it?", "Ann");
  EXPECT_EQ(results(), (std::vector<std::string>{"c1 one", R"(c2 {"text":"Hello Ann"})", "c3 three"}));
  ASSERT_EQ(parts_->size(), 2U);
  EXPECT_EQ((*parts_)[0]["tool"], "desk.ask");
  EXPECT_EQ((*parts_)[0]["arguments"], arguments) << "as the model wrote them: nothing is filled in";
  EXPECT_EQ((*parts_)[1]["entered"], "Ann");
  EXPECT_EQ(planner_->state(run_).questions.begin()->second.kind, "message") << "and the conversation goes on";
}

TEST_F(AskingTools, two_that_ask_at_once_ask_at_once_and_their_results_keep_the_order_of_the_calls) {
  begin(
      {makes_calls({asking_call("c1", "desk.ask", {{"who", "first"}}), asking_call("c2", "echo", {{"content", "two"}}),
                    asking_call("c3", "desk.ask", {{"who", "last"}})})});
  EXPECT_EQ(asking().size(), 2U);
  answer("Who is last?", "Ben");
  EXPECT_TRUE(results().empty());
  EXPECT_EQ(asking().size(), 1U);
  answer("Who is first?", "Ann");
  EXPECT_EQ(results(),
            (std::vector<std::string>{R"(c1 {"text":"Hello Ann"})", "c2 two", R"(c3 {"text":"Hello Ben"})"}));
}

TEST_F(AskingTools, a_called_run_that_fails_or_is_cancelled_is_an_error_that_the_model_reads) {
  begin(
      {makes_calls({asking_call("c1", "desk.ask", {{"who", "first"}}), asking_call("c2", "desk.ask", {{"who", "next"}}),
                    asking_call("c3", "desk.ask", {{"who", "last"}})})});
  answer("Who is first?", "no one");
  const Result<Done> cancelled = planner_->client().command(asking().at("Who is next?"), Cancel{"No time."});
  ASSERT_TRUE(cancelled.ok()) << cancelled.error().message;
  answer("Who is last?", "Ann");
  const std::vector<std::string> found = results();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], "c1 Error: There is no such person.");
  EXPECT_EQ(found[1].find("c2 Error: "), 0U) << found[1];
  EXPECT_EQ(found[2], R"(c3 {"text":"Hello Ann"})");
}

TEST_F(AskingTools, in_a_run_without_people_the_question_is_an_error_that_the_model_reads) {
  Options alone;
  alone.autonomous = true;
  begin({makes_calls({asking_call("c1", "desk.ask", {{"who", "it"}})})}, alone);
  EXPECT_EQ(planner_->state(run_).status, RunStatus::done) << planner_->state(run_).reason;
  EXPECT_EQ(results(), std::vector<std::string>{"c1 Error: The question was not answered."});
}

TEST_F(AskingTools, each_turn_asks_its_own_questions) {
  begin({makes_calls({asking_call("c1", "desk.ask", {{"who", "first"}})}),
         makes_calls(
             {asking_call("c2", "echo", {{"content", "two"}}), asking_call("c3", "desk.ask", {{"who", "last"}})})});
  answer("Who is first?", "Ann");
  EXPECT_EQ(results(), std::vector<std::string>{R"(c1 {"text":"Hello Ann"})"});
  EXPECT_EQ(called_runs().size(), 2U);
  answer("Who is last?", "Ben");
  EXPECT_EQ(results(),
            (std::vector<std::string>{R"(c1 {"text":"Hello Ann"})", "c2 two", R"(c3 {"text":"Hello Ben"})"}));
  EXPECT_EQ(called_runs().size(), 2U);
}

TEST_F(AskingTools, a_turn_in_which_no_tool_asks_goes_the_way_it_always_went) {
  begin({makes_calls({asking_call("c1", "echo", {{"content", "one"}}),
                      asking_call("c2", "fail", {{"message", "broken"}, {"times", 9}})})});
  EXPECT_EQ(results(), (std::vector<std::string>{"c1 one", "c2 Error: broken"}));
  EXPECT_EQ(planner_->path(run_), (std::vector<std::string>{"begin", "turn", "call_tools", "collect", "turn"}));
  EXPECT_TRUE(called_runs().empty());
  EXPECT_TRUE(parts_->empty());
}

// Outside the plan the slot would not be filled in: it would be another call.
TEST_F(AskingTools, a_call_that_takes_the_slot_of_another_one_is_not_made_again) {
  begin({makes_calls({asking_call("c1", "echo", {{"content", "one"}})}),
         makes_calls({asking_call("c2", "desk.ask", {{"who", {{"from_sub_goal", "2.1"}, {"slot", "content"}}}})})});
  EXPECT_EQ(results(), (std::vector<std::string>{"c1 one", "c2 Error: It asks a person."}));
  EXPECT_TRUE(called_runs().empty());
}

}  // namespace
}  // namespace cairn
