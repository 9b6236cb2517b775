// The seven-node agent end to end. S3_nn in a name is the requirement that the test holds.
#include "tests/workers/planners/seven_node/seven_node_trial.hpp"
#include "workers/planners/seven_node/prompts.hpp"

namespace cairn::test::seven {
namespace {

// --- the graph -------------------------------------------------------------------------------------------------------
TEST(SevenNode, S3_1_has_seven_nodes_and_exactly_the_edges_of_the_document) {
  PlannerRun planner(rules());
  const GraphRef graph = planner.client().graphs().current("seven_node");
  std::set<std::string> working;
  std::set<std::pair<std::string, std::string>> edges;
  for (const Node& node : graph->nodes) {
    if (node.verb() != Verb::end) working.insert(node.name);
    for (const auto& [label, targets] : node.on) {
      for (const NodeIndex target : targets) {
        const Node& to = graph->node(target);
        edges.emplace(node.name, to.verb() == Verb::end ? "end" : to.name);
      }
    }
  }
  EXPECT_EQ(working, (std::set<std::string>{"orchestrator", "guardrail", "intent_parser", "query_planner",
                                            "tool_executor", "reflector", "response_generator"}));
  const std::set<std::pair<std::string, std::string>> expected = {{"orchestrator", "guardrail"},
                                                                  {"guardrail", "intent_parser"},
                                                                  {"guardrail", "end"},
                                                                  {"guardrail", "response_generator"},
                                                                  {"intent_parser", "query_planner"},
                                                                  {"intent_parser", "response_generator"},
                                                                  {"query_planner", "tool_executor"},
                                                                  {"query_planner", "response_generator"},
                                                                  {"tool_executor", "reflector"},
                                                                  {"reflector", "query_planner"},
                                                                  {"reflector", "response_generator"},
                                                                  {"response_generator", "end"}};
  EXPECT_EQ(edges, expected);
}

// --- with the rule book ----------------------------------------------------------------------------------------------
TEST(SevenNode, S3_9_two_entities_are_two_calls_of_one_plan) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("Who owns pricing AND tax?"));
  const Json output = planner.output(run);
  EXPECT_EQ(output["outcome"], "answered");
  EXPECT_EQ(output["iterations"], 1);
  EXPECT_EQ(output["model_calls"], 5);
  ASSERT_EQ(output["results"].size(), 2U);
  EXPECT_EQ(output["results"][0]["outputs"]["owner"], "dev-004");
  EXPECT_EQ(output["results"][0]["outputs"]["path"], "packages/modules/pricing");
  EXPECT_EQ(output["results"][1]["outputs"]["owner_commits"], 14);
  EXPECT_TRUE(has(output["answer"], "20 of its 58 commits")) << output["answer"];
  EXPECT_TRUE(has(output["answer"], "rule book")) << output["answer"];
  EXPECT_EQ(planner.path(run), (std::vector<std::string>{"orchestrator", "guardrail", "intent_parser", "query_planner",
                                                         "tool_executor", "reflector", "response_generator"}));
  for (const Json& call : planner.events(run, "model_called")) EXPECT_EQ(call["model"], "rules");
}

TEST(SevenNode, S3_3_and_S3_4_the_weather_is_blocked_after_one_call) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("What is the weather in Tokyo?"));
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  EXPECT_EQ(planner.output(run)["outcome"], "blocked");
  EXPECT_TRUE(has(planner.output(run)["answer"], "I can only answer questions about"));
  EXPECT_EQ(planner.model().requests.size(), 1U);
  EXPECT_EQ(planner.events(run, "model_called").size(), 1U);
  EXPECT_EQ(planner.events(run, "guardrail_blocked").size(), 1U);
  EXPECT_EQ(planner.events(run, "sub_goal_opened").size(), 0U);
  EXPECT_EQ(planner.path(run), (std::vector<std::string>{"orchestrator", "guardrail"}));
}

TEST(SevenNode, S3_2_the_system_context_is_there_before_the_first_call) {
  PlannerRun planner(rules());
  planner.run("seven_node", question("Who owns tax?"));
  const ModelRequest& first = planner.model().requests.front();
  EXPECT_EQ(first.node, "guardrail");
  EXPECT_EQ(first.messages[0]["role"], "system");
  EXPECT_TRUE(has(first.messages[0]["content"], numstat));
}

TEST(SevenNode, S3_5_the_intent_is_on_record_before_anything_is_planned) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("Who owns pricing?"));
  EXPECT_EQ(planner.channel(run, "intent")["intent"], "ownership");
  const std::vector<Json> decisions = planner.events(run, "decision_proposed");
  ASSERT_GE(decisions.size(), 3U);
  EXPECT_EQ(decisions[1]["action"], "ownership");
  EXPECT_EQ(decisions[1]["target"], Json::array({"pricing"}));
  EXPECT_EQ(decisions[2]["action"], "call_tools");
}

TEST(SevenNode, S3_10_tools_are_executed_without_a_planner) {
  PlannerRun planner(script({}), broken_owners());
  const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "1.1"}, {"tool", "owners"}, {"inputs", Json::object()}}}}};
  const RunId run = planner.run("plan_runner", plan);
  EXPECT_EQ(planner.output(run)["failed"]["1.1"], "The database is down.");
  EXPECT_TRUE(planner.model().requests.empty());
}

TEST(SevenNode, S3_6_a_bare_name_asks_back_without_tools) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("pricing"));
  EXPECT_EQ(planner.output(run)["outcome"], "clarification");
  EXPECT_TRUE(planner.output(run)["answer"].get<std::string>().ends_with("?"));
  EXPECT_EQ(planner.events(run, "sub_goal_opened").size(), 0U);
  EXPECT_EQ(planner.path(run),
            (std::vector<std::string>{"orchestrator", "guardrail", "intent_parser", "response_generator"}));
}

TEST(SevenNode, S3_7_the_next_message_continues_the_conversation) {
  PlannerRun planner(rules());
  const RunId first = planner.run("seven_node", question("pricing"));
  const RunId second = planner.run("seven_node", question("The owners, please"), first);
  ASSERT_EQ(planner.output(second)["results"].size(), 1U);
  EXPECT_EQ(planner.output(second)["results"][0]["outputs"]["path"], "packages/modules/pricing");
}

TEST(SevenNode, S3_8_one_entity_is_one_call) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("What is the bus factor of region?"));
  EXPECT_EQ(planner.events(run, "sub_goal_opened").size(), 1U);
  EXPECT_EQ(planner.output(run)["results"][0]["outputs"]["bus_factor"], 2);
}

std::string turn_name(int turn) { return "turn" + std::to_string(turn) + "?"; }

// The prompt of message `turn`, counted from 0: a summary, five turns, the data. Returns the oldest turn in the
// summary.
int expect_summary_and_five_turns(const ModelRequest& request, int turn) {
  std::vector<std::string> asked;
  for (const Json& message : request.messages)
    if (message["role"] == "user") asked.push_back(message["content"].get<std::string>());
  EXPECT_EQ(asked.size(), 6U) << "five turns and the data";
  for (int kept = 0; kept < 5; ++kept)
    EXPECT_TRUE(has(asked.at(static_cast<std::size_t>(kept)), turn_name(turn - 5 + kept))) << turn << " " << kept;
  const auto system = request.messages[0]["content"].get<std::string>();
  const std::size_t begin = system.find("Summary of the conversation before: ");
  const std::string summary = system.substr(std::min(begin, system.size()));
  EXPECT_NE(request.messages[1]["role"], "system") << "some endpoints take one system message only";
  EXPECT_LT(summary.size(), summary_bytes_max + 100) << turn;
  int oldest = 0;
  while (oldest < turn && !has(summary, turn_name(oldest))) ++oldest;
  for (int older = oldest; older < turn - 5; ++older) {
    EXPECT_TRUE(has(summary, turn_name(older))) << turn << " " << older;
    EXPECT_EQ(summary.find(turn_name(older)), summary.rfind(turn_name(older))) << "once: " << summary;
  }
  for (int later = turn - 5; later <= turn; ++later) EXPECT_FALSE(has(summary, turn_name(later))) << summary;
  return oldest;
}

TEST(SevenNode, S3_18_a_long_conversation_is_a_summary_and_five_turns) {
  constexpr int messages = 50;
  PlannerRun planner(rules());
  std::optional<RunId> last;
  for (int turn = 0; turn < messages; ++turn) {
    const std::string place = turn % 2 == 0 ? "tax" : "region";
    last = planner.run("seven_node", question("Who owns " + place + " in " + turn_name(turn)), last);
    if (turn != 8) continue;
    EXPECT_EQ(expect_summary_and_five_turns(planner.model().requests.back(), turn), 0) << "all older ones are in it";
  }
  const int oldest = expect_summary_and_five_turns(planner.model().requests.back(), messages - 1);
  EXPECT_GT(oldest, 0) << "the summary is bounded: the oldest turns leave it";
  EXPECT_LT(oldest, messages - 10) << "it holds more than the turn before the five";
}

// --- with scripted replies -------------------------------------------------------------------------------------------
TEST(SevenNode, S3_14_the_gap_goes_back_to_the_planner) {
  PlannerRun planner(script({passes, is_clear, calls({"pricing"}), reflects("need_more", "tax is missing"),
                             calls({"tax"}), reflects("complete", ""), answers("Both belong to dev-004, mostly.")}));
  const RunId run = planner.run("seven_node", question("Who owns pricing and its neighbour?"));
  EXPECT_EQ(planner.output(run)["iterations"], 2);
  EXPECT_EQ(planner.output(run)["results"].size(), 2U);
  EXPECT_EQ(planner.output(run)["outcome"], "answered");
  const Json data =
      Json::parse(planner.model().of("query_planner").at(1).messages.back()["content"].get<std::string>());
  EXPECT_EQ(data.value("gap", ""), "tax is missing");
  EXPECT_EQ(data.value("results", Json()).size(), 1U);
}

TEST(SevenNode, S3_15_a_reflector_that_always_wants_more_gets_five_passes_and_an_answer_is_given) {
  std::vector<Json> replies = {passes, is_clear, answers("dev-004 owns pricing, as far as could be found.")};
  for (int pass = 0; pass < 9; ++pass) {
    replies.push_back(calls({"pricing"}));
    replies.push_back(reflects("need_more", "still more"));
  }
  PlannerRun planner(script(replies));
  const RunId run = planner.run("seven_node", question("Who owns pricing?"));
  const std::vector<std::string> path = planner.path(run);
  EXPECT_EQ(std::count(path.begin(), path.end(), "tool_executor"), 5);
  const std::vector<Json> exhausted = planner.events(run, "budget_exhausted");
  ASSERT_EQ(exhausted.size(), 1U);
  EXPECT_EQ(exhausted[0]["name"], "iterations");
  EXPECT_EQ(planner.output(run)["outcome"], "partial");
  EXPECT_EQ(planner.output(run)["iterations"], 5);
  EXPECT_EQ(planner.output(run)["answer"], "dev-004 owns pricing, as far as could be found.");
}

TEST(SevenNode, S3_16_the_count_of_passes_lives_in_the_log_whoever_goes_on) {
  std::vector<Json> replies = {passes, is_clear, answers("dev-004 owns pricing, as far as could be found.")};
  for (int pass = 0; pass < 9; ++pass) {
    replies.push_back(calls({"pricing"}));
    replies.push_back(reflects("need_more", "still more"));
  }
  PlannerRun planner(script(replies));
  const RunId run = planner.start("seven_node", question("Who owns pricing?"));
  const auto passes_made = [&] {
    const std::vector<std::string> path = planner.path(run);
    return std::count(path.begin(), path.end(), "tool_executor");
  };
  std::int64_t sessions = 0;
  while (passes_made() < 3) {
    planner.work_until(run, planner.state(run).seq + 1);
    ++sessions;
  }
  EXPECT_GT(sessions, 3);
  EXPECT_LT(passes_made(), 5);
  planner.work(run);
  EXPECT_EQ(passes_made(), 5);
  EXPECT_EQ(planner.events(run, "budget_exhausted").size(), 1U);
  EXPECT_EQ(planner.output(run)["iterations"], 5);
}

TEST(SevenNode, S3_12_and_S3_13_a_broken_tool_ends_in_an_apology_that_names_it) {
  for (const bool with_rules : {true, false}) {
    PlannerRun planner(with_rules ? rules()
                                  : script({passes, is_clear, calls({"pricing"}), reflects("error", "It failed."),
                                            answers("Nothing could be found out.")}),
                       broken_owners());
    const RunId run = planner.run("seven_node", question("Who owns pricing?"));
    const Json output = planner.output(run);
    EXPECT_EQ(planner.state(run).status, RunStatus::done);
    EXPECT_EQ(output["outcome"], "failed");
    EXPECT_EQ(output["results"][0]["status"], "error");
    EXPECT_EQ(output["results"][0]["message"], "The database is down.");
    EXPECT_TRUE(has(output["answer"], "sorry")) << output["answer"];
    EXPECT_TRUE(has(output["answer"], "owners")) << output["answer"];
  }
}

// `owners` as the test says, and `backup`, which answers with its own name.
std::unique_ptr<Tools> owners_and_backup(NativeTool does, std::int32_t attempts, const std::string& fallback) {
  ToolSpec owners;
  owners.name = "owners";
  owners.does = ToolSpec::Instant{std::move(does)};
  owners.attempts = attempts;
  owners.fallback = fallback;
  ToolSpec backup;
  backup.name = "backup";
  backup.does = ToolSpec::Instant{[](const ToolCall& call) -> ToolAnswer {
    return Json{{"owner", "dev-007"}, {"path", call.inputs.value("path", "")}};
  }};
  return make_tools({owners, backup}, 1);
}

TEST(SevenNode, ten_large_results_make_no_prompt_that_no_model_takes) {
  std::vector<std::string> places;
  for (int n = 0; n < 10; ++n) places.push_back("place" + std::to_string(n));
  const auto much = [](const ToolCall& call) -> ToolAnswer {
    return Json{{"path", call.inputs["path"]}, {"owners", Json::array_t(3'000, "an owner of it")}};
  };
  PlannerRun planner(
      script({passes, is_clear, calls(places), reflects("complete", ""), answers("They are owned by many.")}),
      owners_and_backup(much, 1, ""));
  const RunId run = planner.run("seven_node", question("Who owns these?"));
  EXPECT_EQ(planner.output(run)["results"][0]["outputs"]["owners"].size(), 3'000U) << "on record it is whole";
  for (const char* node : {"reflector", "response_generator"}) {
    const Json messages = planner.model().of(node).at(0).messages;
    EXPECT_LT(canonical(messages).size(), 140U * 1024) << node;
    const Json results = Json::parse(messages.back()["content"].get<std::string>())["results"];
    ASSERT_EQ(results.size(), 10U);
    for (const Json& row : results) {
      EXPECT_EQ(row["outputs"]["path"], row["inputs"]["path"]);
      EXPECT_GT(row["outputs"]["owners"].size(), 100U) << node;
    }
    EXPECT_GT(results[9]["outputs"]["owners"].size(), 2 * results[0]["outputs"]["owners"].size());
  }
}

std::vector<Json> a_question_answered() {
  return {passes, is_clear, calls({"pricing"}), reflects("complete", ""), answers("It is dev-007, in the main.")};
}

TEST(SevenNode, S3_12_a_tool_that_fails_once_is_tried_again) {
  std::vector<std::int32_t> attempts;
  const auto flaky = [&attempts](const ToolCall& call) -> ToolAnswer {
    attempts.push_back(call.attempt);
    if (attempts.size() == 1) return Failure{"error", "The database is busy.", true, {}};
    return Json{{"owner", "dev-007"}};
  };
  PlannerRun planner(script(a_question_answered()), owners_and_backup(flaky, 0, ""));
  const RunId run = planner.run("seven_node", question("Who owns pricing?"));
  EXPECT_EQ(attempts, (std::vector<std::int32_t>{1, 2}));
  const Json result = planner.output(run)["results"][0];
  EXPECT_EQ(result["status"], "ok");
  EXPECT_FALSE(result["outputs"].contains("answered_by"));
  EXPECT_EQ(planner.output(run)["outcome"], "answered");
}

// The graph's map would try twice; the tool's own entry says once, twice, or as often as the map.
TEST(SevenNode, S3_12_a_tools_own_attempts_and_fallback_decide_what_its_failure_leads_to) {
  struct Policy {
    std::int32_t attempts;
    std::string fallback;
    bool retryable;
    int tried;
    std::string answered_by;  // "": nothing did
  };
  const std::vector<Policy> policies = {{0, "", true, 2, ""},
                                        {1, "", true, 1, ""},
                                        {1, "backup", true, 1, "backup"},
                                        {2, "backup", true, 2, "backup"},
                                        {2, "backup", false, 1, "backup"},
                                        {1, "nowhere", true, 1, ""}};
  for (const Policy& policy : policies) {
    SCOPED_TRACE(policy.fallback + " after " + std::to_string(policy.attempts));
    int tried = 0;
    const auto down = [&](const ToolCall&) -> ToolAnswer {
      ++tried;
      return Failure{"error", "The database is down.", policy.retryable, {}};
    };
    PlannerRun planner(script(a_question_answered()), owners_and_backup(down, policy.attempts, policy.fallback));
    const RunId run = planner.run("seven_node", question("Who owns pricing?"));
    EXPECT_EQ(tried, policy.tried);
    const Json result = planner.output(run)["results"][0];
    EXPECT_EQ(planner.state(run).status, RunStatus::done);
    EXPECT_EQ(result["tool"], "owners");
    EXPECT_EQ(result["status"], policy.answered_by.empty() ? "error" : "ok");
    if (policy.answered_by.empty()) {
      EXPECT_TRUE(has(result["message"], "The database is down.")) << result;
      EXPECT_EQ(planner.output(run)["outcome"], "failed");
    } else {
      EXPECT_EQ(result["outputs"]["answered_by"], policy.answered_by);
      EXPECT_EQ(result["outputs"]["path"], "pricing") << "the fallback has the same inputs";
      EXPECT_EQ(planner.output(run)["outcome"], "answered");
    }
  }
}

TEST(SevenNode, S3_23_and_S3_24_a_model_that_fails_in_a_node_is_apologised_for_by_name) {
  const std::vector<std::pair<std::string, std::vector<Json>>> cases = {
      {"guardrail", {fails("guardrail")}},
      {"intent_parser", {passes, fails("intent_parser")}},
      {"query_planner", {passes, is_clear, fails("query_planner")}},
      {"reflector", {passes, is_clear, calls({"pricing"}), fails("reflector")}},
      {"response_generator",
       {passes, is_clear, calls({"pricing"}), reflects("complete", ""), fails("response_generator")}}};
  for (const auto& [node, replies] : cases) {
    PlannerRun planner(script(replies));
    const RunId run = planner.run("seven_node", question("Who owns pricing?"));
    const Json output = planner.output(run);
    EXPECT_EQ(planner.state(run).status, RunStatus::done) << node;
    EXPECT_TRUE(has(output["answer"], "sorry") && has(output["answer"], node)) << output["answer"];
    EXPECT_NE(output["outcome"], "answered") << node;
    const std::vector<Json> failed = planner.events(run, "step_failed");
    ASSERT_EQ(failed.size(), 1U) << node;
    EXPECT_EQ(failed[0]["node"], node);
    EXPECT_EQ(planner.events(run, "model_called").size(), replies.size()) << "failed calls are on record too";
  }
}

TEST(SevenNode, S3_17_raw_data_is_not_an_answer) {
  PlannerRun planner(script({passes, is_clear, calls({"pricing"}), reflects("complete", ""), answers("busFactor: 2"),
                             answers("The bus factor is 2, which means that two people hold it.")}));
  const RunId run = planner.run("seven_node", question("What is the bus factor of pricing?"));
  EXPECT_TRUE(has(planner.output(run)["answer"], "which means"));
  const std::vector<ModelRequest> requests = planner.model().of("response_generator");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_TRUE(has(requests[1].messages.back()["content"], "Expected an answer that explains the data"));
}

TEST(SevenNode, a_reply_that_misses_its_schema_is_told_to_the_next_attempt) {
  PlannerRun planner(
      script({says("guardrail", {{"on_topic", "yes"}}), says("guardrail", {{"on_topic", false}, {"reason", "No."}})}));
  const RunId run = planner.run("seven_node", question("Who owns pricing?"));
  EXPECT_EQ(planner.output(run)["outcome"], "blocked");
  ASSERT_EQ(planner.model().requests.size(), 2U);
  EXPECT_TRUE(has(planner.model().requests[1].messages.back()["content"], "last_attempt_failed"));
}

TEST(SevenNode, S3_21_each_node_may_have_its_own_model) {
  PlannerRun planner(rules());
  Json input = question("Who owns pricing?");
  input["models"] = {{"reflector", "small-model"}};
  planner.run("seven_node", input);
  EXPECT_EQ(planner.model().of("reflector").at(0).model, "small-model");
  EXPECT_EQ(planner.model().of("guardrail").at(0).model, "");
}

TEST(SevenNode, input_without_a_question_fails_the_run_with_a_sentence) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", {{"repository", numstat}});
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(planner.state(run).reason, "Expected the input {\"repository\": PATH, \"question\": TEXT}"));
}

}  // namespace
}  // namespace cairn::test::seven
