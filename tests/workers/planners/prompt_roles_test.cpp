// Chat templates of many endpoints (vLLM's of Qwen3.5 and Gemma 3, Mistral's) take one system message, at the
// beginning, and then the person and the model in turn. Every prompt keeps to that, also after a failed attempt and
// within a long conversation.
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "tests/workers/planners/venture_desk.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/models/http_model.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/planners/plan_and_do/prompts.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/planners/round_planner/prompts.hpp"
#include "workers/planners/seven_node/prompts.hpp"
#include "workers/planners/venture_scope/parts.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/planners/venture_scope/question.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/tools.hpp"

namespace cairn::test {
namespace {

using testing::LoopbackServer;
using Prompts = std::map<std::string, Json>;

const std::string told_fault = "Expected another reply, in \"quotes\".";

// "" if a strict template takes the messages.
std::string refusal_by_template(const Json& messages) {
  std::string before;
  for (const Json& message : messages) {
    const auto role = message.at("role").get<std::string>();
    if (role == "system" && !before.empty()) return "System message must be at the beginning.";
    if (role == before) return "Conversation roles must alternate user/assistant/user/assistant/...";
    before = role;
  }
  return before == "user" || before == "tool" ? "" : "Expected the last message to be the user's.";
}

LoopbackServer::Reply answer_by_template(const LoopbackServer::Request& request) {
  const std::string refusal = refusal_by_template(Json::parse(request.body()).at("messages"));
  if (!refusal.empty()) return {.status = 400, .body = Json{{"error", {{"message", refusal}}}}.dump()};
  return {.body = R"({"choices": [{"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}]})"};
}

Prompts prompts_of_planners() {
  Prompts prompts;
  for (const RoundRole role : {RoundRole::goal_analysis, RoundRole::round_plan, RoundRole::synthesis})
    prompts["round_planner " + std::string(to_string(role))] = round_prompt(role, {{"question", "Why?"}}, told_fault);
  const Json turn = {{"question", "Who?"}, {"answer", "Ann."}};
  const Json context = {{"system", "You are one."}, {"summary", "Asked: What? Answered: It."}, {"turns", {turn, turn}}};
  for (const SevenNodeRole role : {SevenNodeRole::guardrail, SevenNodeRole::intent_parser, SevenNodeRole::query_planner,
                                   SevenNodeRole::reflector, SevenNodeRole::response_generator})
    prompts["seven_node " + std::string(to_string(role))] =
        prompt_messages(role, context, {{"question", "Why?"}}, told_fault);
  PlanTree plan;
  plan.add({"1", "", "Move house"});
  prompts["plan_decomposer"] = decomposition_messages(plan, {"1", "single_node", 5, 2'000}, told_fault);
  const Json to_bind = {{"task", {{"id", "1"}}}, {"comes_after", Json::array()}};
  const Json nothing = Json::object();
  prompts["plan_and_do"] = binding_messages({to_bind, nothing, nothing}, "Move house", nothing, told_fault);
  return prompts;
}

Prompts prompts_of_venture_scope() {
  VentureDesk desk;
  desk.outcome("prepare");
  StepInput input;
  input.data = desk.data;
  input.fault = told_fault;
  const Venture venture = venture_of(input);
  return {{"venture_scope decide", planner_prompt(venture, input)},
          {"venture_scope extract", extraction_messages(Json::object(), told_fault)},
          {"venture_scope propose_parts", parts_messages(venture, "b", "How much?", told_fault)},
          {"venture_scope read_question", question_messages("How much?", told_fault)}};
}

Prompts prompts_of_page_agent() {
  using page_agent::Role;
  Prompts prompts;
  StepInput input;
  input.data = Json::object();
  input.fault = told_fault;
  for (const Role role :
       {Role::context_analysis, Role::planning, Role::decompose_plan, Role::step_refinement, Role::action_generation,
        Role::verification, Role::replanning, Role::correction, Role::extraction})
    prompts["page_agent " + std::to_string(static_cast<int>(role))] =
        page_agent::request_of(input, role, {{"goal", "Buy it"}}, "3 earlier steps completed.").messages;
  return prompts;
}

class StrictTemplates : public ::testing::Test {
 protected:
  // The endpoint's word on the messages; "" if it took them.
  std::string refusal(const Json& messages, ReplyFormat format) {
    ModelEndpoint endpoint;
    endpoint.url = server_.url("/v1");
    endpoint.model = "m";
    endpoint.format = format;
    ModelRequest request;
    request.messages = messages;
    request.schema = {{"type", "object"}};
    const ModelAnswer answer = testing::run(make_http_model(std::move(endpoint))->ask(request));
    return answer.failure ? answer.failure->message : "";
  }

  // The messages that a handler of the built-in ones sends after a reply that could not be used.
  Json asked_again_by(const char* handler, Json with) {
    HandlerTable table;
    add_builtin_handlers(table);
    Json asked;
    const auto model = make_rule_model("m", [&asked](const ModelRequest& request) {
      asked = request.messages;
      return bad_reply("It is none.");
    });
    const auto tools = make_tools({}, 1);
    Ports ports(*model, *tools);
    StepInput input;
    input.with = std::move(with);
    input.attempt = 2;
    input.fault = told_fault;
    input.fault_error = "bad_reply";
    EXPECT_FALSE(testing::run(std::get<EffectHandler>(table.find(handler)->run)(input, ports)));
    return asked;
  }

  LoopbackServer server_{answer_by_template};
};

TEST_F(StrictTemplates, every_prompt_of_a_planner_after_a_failed_attempt_is_taken) {
  for (const Prompts& prompts : {prompts_of_planners(), prompts_of_venture_scope(), prompts_of_page_agent()})
    for (const auto& [name, messages] : prompts)
      for (const ReplyFormat format : {ReplyFormat::json_schema, ReplyFormat::text})
        EXPECT_EQ(refusal(messages, format), "") << name << " " << messages;
}

TEST_F(StrictTemplates, the_fault_stands_in_the_data_and_the_summary_in_the_system_message) {
  const Prompts prompts = prompts_of_planners();
  for (const Prompts& some : {prompts, prompts_of_venture_scope()})
    for (const auto& [name, messages] : some) {
      const Json data = Json::parse(messages.back().at("content").get<std::string>());
      EXPECT_EQ(data.value("last_attempt_failed", ""), told_fault) << name;
    }
  const auto system = prompts.at("seven_node reflector").at(0).at("content").get<std::string>();
  EXPECT_NE(system.find("Asked: What? Answered: It."), std::string::npos);
}

TEST_F(StrictTemplates, a_built_in_handler_tells_the_model_its_fault_within_the_last_message_of_the_user) {
  const Json parts = {{{"role", "user"}, {"content", {{{"type", "text"}, {"text", "Who?"}}}}}};
  const Json turns = {{{"role", "user"}, {"content", "Who?"}}, {{"role", "assistant"}, {"content", "Ann."}}};
  const Json schema = {{"type", "object"}};
  const std::vector<std::pair<const char*, Json>> cases = {
      {"model.chat", {{"system", "Be brief."}, {"prompt", "Who?"}}},
      {"model.chat", {{"messages", parts}}},
      {"model.chat", {{"messages", turns}}},
      {"model.decide", {{"prompt", "Who?"}, {"schema", schema}}},
      {"model.extract", {{"text", "It is Ann."}, {"schema", schema}}}};
  for (const auto& [handler, with] : cases) {
    const Json messages = asked_again_by(handler, with);
    EXPECT_EQ(refusal(messages, ReplyFormat::text), "") << handler << " " << messages;
    EXPECT_EQ(messages.back().at("role"), "user");
    EXPECT_NE(messages.back().dump().find(handler == cases.back().first ? "It is none." : "Expected another reply"),
              std::string::npos)
        << messages;
  }
}

}  // namespace
}  // namespace cairn::test
