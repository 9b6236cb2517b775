#include "workers/handlers/builtin_handlers.hpp"

#include <gtest/gtest.h>

#include "engine/decide.hpp"
#include "engine/graph_parsing.hpp"
#include "tests/thread_seconds.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/chat_calls.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

class BuiltinHandlers : public ::testing::Test {
 protected:
  BuiltinHandlers() { add_builtin_handlers(table_); }

  StepResult run(const char* name, Json with) {
    input_.node = "n";
    input_.key = "run/7";
    input_.with = std::move(with);
    const Handler* handler = table_.find(name);
    if (const auto* pure = std::get_if<PureHandler>(&handler->run)) return (*pure)(input_);
    const auto remember = [this](const ModelRequest& request) -> ModelAnswer {
      asked_.push_back(request);
      return answer_;
    };
    const auto model = make_rule_model("rules", remember);
    const auto tools = make_tools(builtin_tools(), 1);
    Ports ports(*model, *tools);
    return testing::run(std::get<EffectHandler>(handler->run)(input_, ports));
  }

  Outcome outcome(const char* name, Json with) {
    StepResult result = run(name, std::move(with));
    if (!result) {
      ADD_FAILURE() << result.error().error << ": " << result.error().message;
      return {};
    }
    return *std::move(result);
  }

  Failure failure(const char* name, Json with) {
    StepResult result = run(name, std::move(with));
    if (result) {
      ADD_FAILURE() << "it left by " << result->label;
      return {};
    }
    return std::move(result).error();
  }

  void model_says(Json value) {
    ModelReply reply;
    reply.value = std::move(value);
    answer_ = reply;
  }

  HandlerTable table_;
  StepInput input_;
  ModelAnswer answer_ = ModelReply();
  std::vector<ModelRequest> asked_;
};

Json record_of(const std::vector<Fact>& facts) {
  if (facts.size() != 1) {
    ADD_FAILURE() << facts.size() << " facts";
    return {};
  }
  return Json::parse(std::get<Record>(facts[0]).fields);
}

TEST_F(BuiltinHandlers, declare_their_labels) {
  const Handlers labels = table_.labels();
  EXPECT_EQ(labels.size(), 11u);
  EXPECT_EQ(labels.at("model.chat").labels, std::set<std::string>{"ok"});
  EXPECT_TRUE(labels.at("model.chat").declared_by_node) << "may be";
  EXPECT_FALSE(labels.at("tool.call").declared_by_node);
  EXPECT_TRUE(labels.at("model.decide").declared_by_node);
  EXPECT_TRUE(table_.find("data.pick")->is_pure());
  EXPECT_EQ(table_.find("nothing"), nullptr);
}

TEST_F(BuiltinHandlers, chat_stores_the_reply_and_records_the_call) {
  model_says("Ann.");
  const Outcome outcome = this->outcome(
      "model.chat", {{"system", "Be brief."}, {"prompt", {"Who owns ", "x", "?"}}, {"into", "answer"}, {"model", "m"}});
  EXPECT_EQ(outcome.label, "ok");
  EXPECT_EQ(outcome.patch, (Json{{"answer", "Ann."}}));
  const Json messages =
      Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who owns x?"}])");
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].messages, messages);
  EXPECT_EQ(asked_[0].model, "m");
  EXPECT_EQ(asked_[0].node, "n");
  EXPECT_EQ(asked_[0].key, "run/7");
  EXPECT_EQ(record_of(outcome.facts)["ok"], true);
}

TEST_F(BuiltinHandlers, chat_takes_whole_messages) {
  model_says("Ann.");
  const Json messages = Json::parse(R"([{"role": "user", "content": "Who?"}])");
  EXPECT_EQ(outcome("model.chat", {{"messages", messages}}).patch, (Json{{"reply", "Ann."}}));
  EXPECT_EQ(asked_.at(0).messages, messages);
}

Json tool_call(const std::string& id, const std::string& name, const std::string& arguments) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

const Json hello = Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])");

TEST_F(BuiltinHandlers, chat_keeps_the_whole_message_where_it_is_told_to) {
  ModelReply reply;
  reply.message = {{"role", "assistant"}, {"content", "Ann."}, {"refusal", nullptr}};
  reply.value = "Ann.";
  answer_ = reply;
  EXPECT_EQ(outcome("model.chat", {{"prompt", "Who?"}, {"append_to", "said"}}).patch,
            (Json{{"reply", "Ann."}, {"said", {reply.message}}}));
}

TEST_F(BuiltinHandlers, chat_keeps_no_reply_that_the_next_turn_could_not_send) {
  ModelReply reply;
  reply.message = {{"content", "Ann."}};
  answer_ = reply;
  for (const Json& with : {Json{{"prompt", "Who?"}, {"append_to", "said"}},
                           Json{{"messages", hello}, {"tools", nullptr}, {"append_to", "said"}}}) {
    const Failure failure = this->failure("model.chat", with);
    EXPECT_EQ(failure.error, "bad_reply");
    EXPECT_EQ(failure.message, R"(Expected a message with a role, but the reply is {"content":"Ann."}.)");
    EXPECT_TRUE(failure.retryable);
  }
  EXPECT_EQ(outcome("model.chat", {{"messages", hello}, {"tools", nullptr}}).label, "message") << "nothing is kept";
}

TEST_F(BuiltinHandlers, chat_opens_the_calls_of_a_reply_where_it_offers_tools) {
  const Json tools = Json::parse(R"([{"type": "function", "function": {"name": "echo"}},
                                      {"type": "function", "function": {"name": "fail"}}])");
  ModelReply reply;
  reply.message = {
      {"role", "assistant"},
      {"content", nullptr},
      {"tool_calls",
       {tool_call("c1", "echo", R"({"a": 1})"), tool_call("c2", "echo", "{bad"), tool_call("c3", "fail", "{}")}}};
  answer_ = reply;
  const Json with = {{"messages", hello}, {"tools", tools}, {"append_to", "messages"}, {"into", "said"}};
  const Outcome called = outcome("model.chat", with);
  EXPECT_EQ(called.label, "tools");
  EXPECT_EQ(called.patch, (Json{{"said", ""}, {"messages", {reply.message}}}));
  EXPECT_EQ(asked_.at(0).tools, tools);
  ASSERT_EQ(called.facts.size(), 3u) << "the call of the model, and the two that can be run";
  EXPECT_EQ(std::get<SubGoalOpened>(called.facts[1]).sub_goal, "3.1");
  EXPECT_EQ(std::get<SubGoalOpened>(called.facts[1]).inputs, (Json{{"a", 1}}));
  EXPECT_EQ(std::get<SubGoalOpened>(called.facts[2]).sub_goal, "3.3");
  EXPECT_EQ(std::get<SubGoalOpened>(called.facts[2]).tool, "fail");

  reply.message = {{"role", "assistant"}, {"content", "Done."}, {"tool_calls", nullptr}};
  answer_ = reply;
  const Outcome spoken = outcome("model.chat", {{"messages", hello}, {"tools", nullptr}});
  EXPECT_EQ(spoken.label, "message");
  EXPECT_EQ(spoken.patch, (Json{{"reply", "Done."}}));
  EXPECT_EQ(spoken.facts.size(), 1u);
}

TEST_F(BuiltinHandlers, chat_with_tools_refuses_calls_that_are_none_and_asks_the_same_again) {
  for (const Json& calls :
       {Json("echo"), Json::array({7}), Json{{{"id", "c1"}}}, Json{{{"id", "c1"}, {"function", {{"name", ""}}}}}}) {
    ModelReply reply;
    reply.message = {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", calls}};
    answer_ = reply;
    const Failure failure = this->failure("model.chat", {{"messages", hello}, {"tools", nullptr}});
    EXPECT_EQ(failure.error, "bad_reply") << calls;
    EXPECT_TRUE(failure.retryable);
    EXPECT_EQ(record_of(failure.facts)["ok"], true);
  }
  input_.attempt = 2;
  input_.fault = "Expected tool_calls to be a list, but they are not.";
  input_.fault_error = "bad_reply";
  failure("model.chat", {{"messages", hello}, {"tools", nullptr}});
  EXPECT_EQ(asked_.back().messages, hello);
  EXPECT_EQ(asked_.back().key, "run/7/2");
}

TEST_F(BuiltinHandlers, results_answer_each_call_of_the_last_message_in_order) {
  Json messages = hello;
  messages.push_back({{"role", "assistant"},
                      {"content", nullptr},
                      {"tool_calls",
                       {tool_call("c1", "a", "{}"), tool_call("c2", "b", "{}"), tool_call("c3", "c", "{}"),
                        tool_call("c4", "d", "7"), tool_call("c5", "e", "{}"), tool_call("c6", "f", "{}")}}});
  input_.plan = {{"3.2", "b", {}, GoalStatus::succeeded, {{"b", 1}}, "", ""},
                 {"3.1", "a", {}, GoalStatus::succeeded, {{"content", "as it is"}, {"more", 1}}, "", ""},
                 {"3.3", "c", {}, GoalStatus::failed, {}, "timeout", ""},
                 {"3.6", "f", {}, GoalStatus::succeeded, {{"content", "of a call that was taken back"}}, "", ""}};
  input_.rejected = {{"3.6", "f", "Expected another id."}};
  const Outcome outcome = this->outcome("tool.results", {{"messages", messages}, {"into", "told"}});
  EXPECT_EQ(outcome.label, "ok");
  EXPECT_EQ(outcome.patch, (Json{{"told", Json::parse(R"([
      {"role": "tool", "tool_call_id": "c1", "name": "a", "content": "as it is"},
      {"role": "tool", "tool_call_id": "c2", "name": "b", "content": "{\"b\":1}"},
      {"role": "tool", "tool_call_id": "c3", "name": "c", "content": "Error: timeout"},
      {"role": "tool", "tool_call_id": "c4", "name": "d",
       "content": "Error: Expected the arguments to be a JSON object, but they are 7."},
      {"role": "tool", "tool_call_id": "c5", "name": "e", "content": "Error: The call was not run."},
      {"role": "tool", "tool_call_id": "c6", "name": "f", "content": "Error: Expected another id."}])")}}));
  EXPECT_EQ(this->outcome("tool.results", {{"messages", hello}}).patch, (Json{{"messages", Json::array()}}));
}

TEST_F(BuiltinHandlers, issue_22_6_results_wait_for_the_calls_whose_tools_ask_a_person) {
  Json messages = hello;
  messages.push_back({{"role", "assistant"},
                      {"content", nullptr},
                      {"tool_calls",
                       {tool_call("c1", "a", "{}"), tool_call("c2", "b", R"({"n": 1})"), tool_call("c3", "c", "{}"),
                        tool_call("c4", "d", "{}"), tool_call("c5", "e", "{}"), tool_call("c6", "f", "{}")}}});
  const Json slot = {{"from_sub_goal", "1.1"}, {"slot", "s"}};
  const auto asks = [](const char* id, const char* tool, Json inputs) {
    return GoalView{id, tool, std::move(inputs), GoalStatus::failed, {}, "input_required", "Who is it?"};
  };
  input_.plan = {{"3.1", "a", {}, GoalStatus::succeeded, {{"content", "one"}}, "", ""},
                 asks("3.2", "b", {{"n", 1}}),
                 {"3.3", "c", {}, GoalStatus::failed, {}, "timeout", "It is late."},
                 asks("3.4", "d", Json::object()),
                 asks("3.5", "e", Json::object()),
                 asks("3.6", "f", {{"list", {slot}}}),
                 asks("1.1", "g", Json::object())};
  input_.rejected = {{"3.5", "e", "Expected another id."}};
  Json with = {{"messages", messages}, {"into", "told"}, {"asked_into", "asked"}, {"asked", Json::object()}};
  const Outcome asking = this->outcome("tool.results", with);
  EXPECT_EQ(asking.label, "asks");
  const Json asked = {{{"id", "3.2"}, {"tool", "b"}, {"inputs", {{"n", 1}}}},
                      {{"id", "3.4"}, {"tool", "d"}, {"inputs", Json::object()}}};
  EXPECT_EQ(asking.patch, (Json{{"asked", asked}})) << "those of this message that ran, with inputs of their own";

  with["asked"] = {{"calls", asked},
                   {"results", {nullptr, {{"text", "four"}}}},
                   {"failures", {{{"index", 0}, {"error", "failed"}, {"message", "It is closed."}}}}};
  const Outcome answered = this->outcome("tool.results", with);
  EXPECT_EQ(answered.label, "ok");
  const std::vector<std::string> contents = {"one",
                                             "Error: It is closed.",
                                             "Error: It is late.",
                                             R"({"text":"four"})",
                                             "Error: Expected another id.",
                                             "Error: Who is it?"};
  const Json& told = answered.patch["told"];
  ASSERT_EQ(told.size(), contents.size());
  for (std::size_t i = 0; i < contents.size(); ++i) EXPECT_EQ(told[i]["content"], contents[i]);

  with.erase("asked");
  with.erase("asked_into");
  const Outcome of_an_older_graph = this->outcome("tool.results", with);
  EXPECT_EQ(of_an_older_graph.label, "ok");
  EXPECT_EQ(of_an_older_graph.patch["told"][1]["content"], "Error: Who is it?");
}

// H2: each call was looked for among all answers, and each offered function copied for each call: minutes of a turn.
TEST_F(BuiltinHandlers, H2_many_calls_are_answered_in_one_pass) {
  constexpr int count = 20'000;
  Json calls = Json::array(), own = Json::array(), results = Json::array();
  for (int n = 0; n < count; ++n) {
    calls.push_back(tool_call("c" + std::to_string(n), "f" + std::to_string(n), "{}"));
    own.push_back({{"id", "1." + std::to_string(count - n)}});
    results.push_back(n);
  }
  const Json message = {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", std::move(calls)}};
  const double began = test::thread_seconds();
  const Outcome outcome =
      this->outcome("tool.results", {{"messages", {message}}, {"calls", own}, {"results", std::move(results)}});
  const Json& told = outcome.patch["messages"];
  ASSERT_EQ(told.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(told[0]["content"], std::to_string(count - 1));
  Offer offer{Json::array()};
  for (int n = 0; n < count; ++n)
    offer.tools.push_back({{"type", "function"}, {"function", {{"name", "f" + std::to_string(n)}}}});
  EXPECT_EQ(opened_calls(message, 0, offer)->facts.size(), static_cast<std::size_t>(count));
  EXPECT_LT(test::thread_seconds() - began, 5);
}

TEST_F(BuiltinHandlers, chat_leaves_by_ok_unless_its_node_says_otherwise) {
  Json graph = Json::parse(R"({"name": "g", "start": "ask", "limits": {"steps": 9}, "nodes": {
      "ask": {"do": "model.chat", "with": {"prompt": "Who?"}, "on": {"ok": "end"}}, "end": {"end": "done"}}})");
  EXPECT_EQ(graph_faults(graph, table_.labels()), std::vector<std::string>{});
  Json& ask = graph["nodes"]["ask"];
  ask["on"] = {{"message", "end"}};
  EXPECT_NE(graph_faults(graph, table_.labels()), std::vector<std::string>{});
  ask["labels"] = {"message"};
  EXPECT_EQ(graph_faults(graph, table_.labels()), std::vector<std::string>{});
}

TEST_F(BuiltinHandlers, a_failed_model_call_is_on_record) {
  answer_ = Failure{"unreachable", "It is away.", true, {}};
  const Failure failure = this->failure("model.chat", {{"prompt", "Who?"}});
  EXPECT_EQ(failure.error, "unreachable");
  EXPECT_TRUE(failure.retryable);
  const Json record = record_of(failure.facts);
  EXPECT_EQ(record["ok"], false);
  EXPECT_EQ(record["error"], "unreachable");
}

TEST_F(BuiltinHandlers, after_a_bad_reply_the_model_is_told_what_was_wrong) {
  model_says("Ann.");
  input_.attempt = 2;
  input_.fault = "Expected a name.";
  input_.fault_error = "bad_reply";
  outcome("model.chat", {{"prompt", "Who?"}});
  const std::string last = asked_.at(0).messages.back()["content"];
  EXPECT_NE(last.find("Expected a name."), std::string::npos);
  EXPECT_EQ(asked_.at(0).key, "run/7/2");

  input_.fault_error = "unreachable";
  outcome("model.chat", {{"prompt", "Who?"}});
  EXPECT_EQ(asked_.at(1).messages.size(), 1u);
  EXPECT_EQ(asked_.at(1).key, "run/7");
}

// Attempts: a bad reply, no answer, this one. The first key would bring the bad reply again.
TEST_F(BuiltinHandlers, after_a_bad_reply_and_no_answer_the_key_is_not_the_first_one) {
  model_says("Ann.");
  input_.attempt = 3;
  input_.fault_error = "unreachable";
  outcome("model.chat", {{"prompt", "Who?"}});
  EXPECT_EQ(asked_.at(0).key, "run/7/3");
}

TEST_F(BuiltinHandlers, decide_leaves_by_the_field_of_a_checked_value) {
  const Json schema =
      Json::parse(R"({"type": "object", "properties": {"next": {"enum": ["left", "right"]}}, "required": ["next"]})");
  model_says({{"next", "left"}});
  const Json with = {{"prompt", "Where?"}, {"schema", schema}, {"label_field", "next"}, {"into", "choice"}};
  const Outcome outcome = this->outcome("model.decide", with);
  EXPECT_EQ(outcome.label, "left");
  EXPECT_EQ(outcome.patch, (Json{{"choice", {{"next", "left"}}}}));
  EXPECT_EQ(asked_.at(0).schema, schema);

  model_says({{"next", "up"}});
  const Failure failure = this->failure("model.decide", with);
  EXPECT_EQ(failure.error, "bad_reply");
  EXPECT_EQ(record_of(failure.facts)["ok"], false);
}

TEST_F(BuiltinHandlers, decide_without_a_field_leaves_by_ok) {
  model_says(5);
  const Outcome outcome = this->outcome("model.decide", {{"prompt", "How many?"}, {"schema", {{"type", "integer"}}}});
  EXPECT_EQ(outcome.label, "ok");
  EXPECT_EQ(outcome.patch, (Json{{"decision", 5}}));
}

TEST_F(BuiltinHandlers, decide_without_the_field_in_the_value_is_a_bad_reply) {
  model_says({{"other", 1}});
  const Failure failure =
      this->failure("model.decide", {{"prompt", "?"}, {"schema", {{"type", "object"}}}, {"label_field", "next"}});
  EXPECT_EQ(failure.error, "bad_reply");
  EXPECT_TRUE(failure.retryable);
  EXPECT_EQ(record_of(failure.facts)["ok"], true);
}

TEST_F(BuiltinHandlers, tool_call_stores_the_outputs) {
  const Outcome outcome = this->outcome("tool.call", {{"tool", "echo"}, {"inputs", {{"a", 1}}}, {"into", "echoed"}});
  EXPECT_EQ(outcome.label, "ok");
  EXPECT_EQ(outcome.patch, (Json{{"echoed", {{"a", 1}}}}));
  EXPECT_EQ(record_of(outcome.facts)["tool"], "echo");
}

TEST_F(BuiltinHandlers, tool_call_passes_the_attempt_on) {
  const Json with = {{"tool", "fail"}, {"inputs", {{"message", "not yet"}, {"times", 1}}}};
  const Failure failure = this->failure("tool.call", with);
  EXPECT_EQ(failure.message, "not yet");
  EXPECT_EQ(record_of(failure.facts)["ok"], false);
  input_.attempt = 2;
  EXPECT_EQ(outcome("tool.call", with).label, "ok");
}

TEST_F(BuiltinHandlers, set_patches_channels) {
  const Outcome outcome = this->outcome("data.set", {{"set", {{"a", 1}, {"b", nullptr}}}});
  EXPECT_EQ(outcome.label, "ok");
  EXPECT_EQ(outcome.patch, (Json{{"a", 1}, {"b", nullptr}}));
}

TEST_F(BuiltinHandlers, pick_leaves_by_the_values_label) {
  const Json labels = {{"true", "yes"}, {"3", "three"}, {"null", "none"}, {"word", "text"}};
  const auto label = [&](const Json& value) {
    return outcome("data.pick", {{"value", value}, {"labels", labels}, {"default", "other"}}).label;
  };
  EXPECT_EQ(label(true), "yes");
  EXPECT_EQ(label(3), "three");
  EXPECT_EQ(label(nullptr), "none");
  EXPECT_EQ(label("word"), "text");
  EXPECT_EQ(label(false), "other");
  EXPECT_EQ(outcome("data.pick", {{"value", "left"}}).label, "left");
  EXPECT_EQ(outcome("data.pick", {{"value", 5}, {"default", "other"}}).label, "other");
}

TEST_F(BuiltinHandlers, F21_test_leaves_by_whether_it_holds_or_by_the_first_case) {
  EXPECT_EQ(outcome("data.test", {{"if", {{"gt", {7, 5}}}}}).label, "true");
  EXPECT_EQ(outcome("data.test", {{"if", {{"gt", {3, 5}}}}}).label, "false");
  const auto size = [&](int grams) {
    const Json cases = {{{"if", {{"lt", {grams, 10}}}}, {"label", "small"}},
                        {{"if", {{"lt", {grams, 20}}}}, {"label", "middle"}}};
    return outcome("data.test", {{"cases", cases}, {"default", "large"}}).label;
  };
  EXPECT_EQ(size(5), "small");
  EXPECT_EQ(size(15), "middle");
  EXPECT_EQ(size(25), "large");
  EXPECT_EQ(failure("data.test", {{"if", {{"gt", {1, "a"}}}}}).message,
            "Expected two numbers or two texts to compare, but found [1,\"a\"], in the \"with\" of node \"n\".");
}

TEST_F(BuiltinHandlers, F21_compute_sets_channels) {
  const Json set = {{"total", {{"sum", {1, 2.5}}}}, {"names", {{"join", {{"a", "b"}, ", "}}}}};
  EXPECT_EQ(outcome("data.compute", {{"set", set}}).patch, (Json{{"total", 3.5}, {"names", "a, b"}}));
  EXPECT_EQ(failure("data.compute", {{"set", {{"x", {{"quotient", {1, 0}}}}}}}).message,
            "Expected a divisor that is not 0, but found [1,0], in the \"with\" of node \"n\".");
}

TEST_F(BuiltinHandlers, F21_map_takes_a_part_of_each_element) {
  const Json people = {{{"name", "Ann"}, {"age", 30}}, {{"name", "Bob"}, {"age", 17}}};
  EXPECT_EQ(outcome("data.map", {{"over", people}, {"take", "/name"}, {"where", {{"at", "/age"}, {"ge", 18}}}}).patch,
            (Json{{"result", {"Ann"}}}));
}

TEST_F(BuiltinHandlers, wrong_settings_fail_for_good_and_name_the_node) {
  struct Row {
    const char* handler;
    const char* with;
  };
  for (const Row& row : {
           Row{"model.chat", "{}"},
           Row{"model.chat", R"({"prompt": "a", "messages": []})"},
           Row{"model.chat", R"({"messages": "a"})"},
           Row{"model.chat", R"({"prompt": "a", "into": 5})"},
           Row{"model.chat", R"({"prompt": "a", "model": 5})"},
           Row{"model.chat", R"({"prompt": "a", "append_to": 5})"},
           Row{"model.chat", R"({"prompt": "a", "tools": []})"},
           Row{"model.chat", R"({"messages": [], "tools": []})"},
           Row{"model.chat", R"({"messages": [{"content": "a"}], "tools": []})"},
           Row{"model.chat", R"({"messages": [{"role": "user", "content": "a"}], "tools": 5})"},
           Row{"data.test", "{}"},
           Row{"data.test", R"({"cases": 5})"},
           Row{"data.test", R"({"cases": [{"if": {"eq": [1, 1]}}]})"},
           Row{"data.test", R"({"cases": []})"},
           Row{"data.compute", "{}"},
           Row{"data.compute", R"({"set": {"a": {"cube": 3}}})"},
           Row{"data.map", "{}"},
           Row{"tool.results", "{}"},
           Row{"tool.results", R"({"messages": [{"role": "assistant", "tool_calls": [{"id": 5}]}]})"},
           Row{"tool.results", R"({"messages": [{"role": "user"}], "into": 5})"},
           Row{"tool.results", R"({"messages": [{"role": "user"}], "calls": 5})"},
           Row{"tool.results", R"({"messages": [{"role": "user"}], "asked": 5})"},
           Row{"tool.results", R"({"messages": [{"role": "user"}], "asked": {"results": 5}})"},
           Row{"tool.results", R"({"messages": [{"role": "user"}], "asked": {}, "asked_into": 5})"},
           Row{"model.decide", R"({"prompt": "a"})"},
           Row{"model.decide", R"({"prompt": "a", "schema": {"type": 5}})"},
           Row{"model.decide", R"({"prompt": "a", "schema": {}, "label_field": 5})"},
           Row{"tool.call", "{}"},
           Row{"tool.call", R"({"tool": "echo", "inputs": 5})"},
           Row{"data.set", "{}"},
           Row{"data.set", R"({"set": 5})"},
           Row{"data.pick", "{}"},
           Row{"data.pick", R"({"value": "a", "labels": {"b": "c"}})"},
           Row{"data.pick", R"({"value": "a", "labels": []})"},
       }) {
    const Failure failure = this->failure(row.handler, Json::parse(row.with));
    EXPECT_EQ(failure.error, "invalid") << row.with;
    EXPECT_FALSE(failure.retryable);
    EXPECT_NE(failure.message.find("node \"n\""), std::string::npos) << failure.message;
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(BuiltinHandlers, get_their_settings_and_faults_from_the_folded_state) {
  const Json graph = Json::parse(R"({"name": "g", "start": "pick", "limits": {"steps": 9}, "nodes": {
      "pick": {"do": "data.pick", "with": {"value": "$input/kind", "text": "$$plain"}, "labels": ["a"],
               "on": {"a": "end"}},
      "end": {"end": "done"}}})");
  Graphs graphs;
  auto parsed = parse_graph(graph, std::string(64, 'a'), table_.labels());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  graphs.add(*parsed, true);
  RunState state;
  Context context;
  StartRun start;
  start.run = *parse_run_id("0198c3f2-0000-7000-8000-000000000001");
  start.graph = "g";
  start.input = Json::parse(R"({"input": {"kind": "a"}, "more": 1})");
  ASSERT_TRUE(decide(state, start, context, graphs).ok());
  FailStep fail;
  fail.step = 1;
  fail.attempt = 1;
  fail.failure = {"lost", "The worker died.", true, {}};
  ASSERT_TRUE(decide(state, fail, context, graphs).ok());

  Handler reader = *table_.find("data.pick");
  reader.reads = {"more", "absent"};
  const StepInput input = *step_input(state, *find_step(state, 1), &reader);
  EXPECT_EQ(input.with, (Json{{"value", "a"}, {"text", "$plain"}}));
  EXPECT_EQ(input.data, (Json{{"more", 1}}));
  EXPECT_EQ(input.attempt, 2);
  EXPECT_EQ(input.fault_error, "lost");
  EXPECT_EQ(input.fault, "The worker died.");
  EXPECT_EQ(input.key, "0198c3f2-0000-7000-8000-000000000001/1");
  EXPECT_EQ(input.node, "pick");
  EXPECT_EQ(input.graph, "g");
  reader.reads = {"*"};
  EXPECT_EQ(step_input(state, *find_step(state, 1), &reader)->data, start.input);
  EXPECT_EQ(step_input(state, *find_step(state, 1), nullptr)->data, start.input);
}

TEST_F(BuiltinHandlers, a_call_without_arguments_has_none) {
  for (const Json& arguments : {Json(), Json(""), Json("{}"), Json::object()}) {
    const Json call = {{"id", "c1"}, {"function", {{"name", "now"}, {"arguments", arguments}}}};
    const auto opened = opened_calls({{"role", "assistant"}, {"tool_calls", Json::array({call})}}, 0, {});
    ASSERT_TRUE(opened.ok()) << arguments;
    ASSERT_EQ(opened->facts.size(), 1U) << arguments;
    EXPECT_EQ(std::get<SubGoalOpened>(opened->facts.front()).inputs, Json::object()) << arguments;
  }
}

}  // namespace
}  // namespace cairn
