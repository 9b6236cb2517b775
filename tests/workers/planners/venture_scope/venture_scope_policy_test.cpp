// The rules by which venture_scope overrules a decision, each alone and in their order; and the rule book.
#include "tests/workers/planners/venture_desk.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/venture_scope/answers.hpp"
#include "workers/planners/venture_scope/policy.hpp"
#include "workers/planners/venture_scope/profile.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/planners/venture_scope/rules.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

using test::gate_desk;
using test::VentureDesk;
using Words = std::vector<std::string>;

// --- the policy ------------------------------------------------------------------------------------------------------
Json trail_of(const Outcome& outcome) {
  const std::vector<Json> enforced = VentureDesk::records(outcome, RecordKind::decision_enforced);
  EXPECT_EQ(enforced.size(), 1U);
  return enforced.empty() ? Json() : enforced[0]["trail"];
}

Words rules_of(const Outcome& outcome) {
  Words rules;
  for (const Json& rewrite : VentureDesk::records(outcome, RecordKind::decision_rewritten))
    rules.push_back(rewrite["rule"].get<std::string>());
  return rules;
}

TEST(VentureScope, S0_30_the_rules_run_in_their_order_and_each_rewrite_is_on_record) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.use_up("search");
  desk.use_up("ask");
  desk.propose("ask_user", "total");  // derived, so its first component; not searched yet; caps; no result
  const Outcome outcome = desk.outcome("enforce_policy");
  EXPECT_EQ(rules_of(outcome), (Words{"derived_to_direct", "premature_ask", "search_cap", "ask_cap", "calculation"}));
  const std::vector<Json> rewrites = VentureDesk::records(outcome, RecordKind::decision_rewritten);
  for (std::size_t i = 0; i + 1 < rewrites.size(); ++i) {
    EXPECT_LT(rewrites[i]["order"], rewrites[i + 1]["order"]);
    EXPECT_EQ(rewrites[i]["to"], rewrites[i + 1]["from"]);
  }
  EXPECT_EQ(rewrites[0]["from_target"], "total");
  EXPECT_EQ(rewrites[0]["to_target"], "a");
}

TEST(VentureScope, S0_31_a_field_that_requires_components_is_decomposed_when_it_is_wanted) {
  VentureDesk desk;
  desk.outcome("prepare");
  ASSERT_FALSE(desk.data["dynamic_decompositions"].contains("c")) << "nobody needs it";
  desk.propose("search", "c");
  const Outcome outcome = desk.outcome("enforce_policy");
  EXPECT_TRUE(desk.data["dynamic_decompositions"].contains("c"));
  EXPECT_TRUE(desk.data["schema"].contains("c.part"));
  EXPECT_EQ(VentureDesk::facts<TaskDecomposed>(outcome).at(0).target, "c");
  EXPECT_EQ(desk.data["decision"]["target_path"], "c.part");
}

TEST(VentureScope, S0_32_a_derived_field_is_redirected_to_its_first_missing_component) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.set("a", 1);
  desk.propose("search", "total");
  EXPECT_EQ(desk.label("enforce_policy"), "ask_user") << "b is for people";
  EXPECT_EQ(desk.data["decision"]["target_path"], "b");
  EXPECT_EQ(desk.data["decision"]["question"], "What is b?");
  desk.set("b", 1);
  desk.propose("search", "total");
  EXPECT_EQ(desk.label("enforce_policy"), "calculate") << "nothing is missing";
}

TEST(VentureScope, S0_33_a_question_before_a_search_becomes_the_search) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.propose("ask_user", "a");
  EXPECT_EQ(desk.label("enforce_policy"), "search");
  EXPECT_EQ(desk.data["decision"]["query"], "alpha of Norland");
  desk.data["tries"]["a"] = {{"searched", 1}};
  desk.propose("ask_user", "a");
  EXPECT_EQ(desk.label("enforce_policy"), "ask_user");
  desk.propose("ask_user", "b");
  EXPECT_EQ(desk.label("enforce_policy"), "ask_user") << "it does not prefer the search";
}

TEST(VentureScope, S0_34_at_the_search_cap_a_person_is_asked_or_it_is_noted) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.use_up("search");
  desk.propose("search", "a");
  const Outcome asked = desk.outcome("enforce_policy");
  EXPECT_EQ(asked.label, "ask_user");
  EXPECT_EQ(VentureDesk::facts<BudgetExhausted>(asked).at(0).name, "search");
  desk.data["schema"]["a"]["sources"] = Json{"search"};
  desk.propose("search", "a");
  EXPECT_EQ(desk.label("enforce_policy"), "reflect");
}

TEST(VentureScope, S0_35_at_the_ask_cap_it_finishes) {
  VentureDesk desk;
  desk.data["profile"].erase("calculator");
  desk.outcome("prepare");
  desk.use_up("ask");
  desk.propose("ask_user", "b");
  const Outcome outcome = desk.outcome("enforce_policy");
  EXPECT_EQ(outcome.label, "finish");
  EXPECT_EQ(VentureDesk::facts<BudgetExhausted>(outcome).at(0).name, "ask");
  EXPECT_EQ(desk.label("finish"), "aborted");
  EXPECT_EQ(desk.data["reason"], "ask_cap");
}

TEST(VentureScope, S0_36_finishing_without_a_result_calculates_while_it_may) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.propose("finish");
  EXPECT_EQ(desk.label("enforce_policy"), "calculate");
  desk.use_up("calc");
  desk.propose("finish");
  EXPECT_EQ(desk.label("enforce_policy"), "finish");
  desk.propose("calculate");
  const Outcome outcome = desk.outcome("enforce_policy");
  EXPECT_EQ(outcome.label, "finish") << "no calculation beyond its cap";
  EXPECT_EQ(VentureDesk::facts<BudgetExhausted>(outcome).at(0).name, "calc");
}

TEST(VentureScope, S0_37_the_rules_chain_in_one_pass) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.use_up("search");
  desk.use_up("ask");
  desk.propose("search", "a");
  const Outcome outcome = desk.outcome("enforce_policy");
  EXPECT_EQ(trail_of(outcome), (Json{"search", "ask_user", "finish", "calculate"}));
  EXPECT_EQ(outcome.label, "calculate");
}

TEST(VentureScope, S0_38_the_adjustment_is_idempotent) {
  for (const bool backed : {true, false})
    for (const bool capped : {true, false})
      for (const char* last : {"", "SUCCESS", "BLOCKED"})
        for (const char* action : {"search", "ask_user", "reflect", "calculate", "finish"}) {
          VentureDesk desk = gate_desk({backed, capped, last, true});
          StepInput input;
          input.data = desk.data;
          input.budgets = desk.used;
          input.caps = desk.caps;
          const Venture venture = venture_of(input);
          const VentureDecision once = adjusted(venture, {action, "a", "", "", "", "model"});
          EXPECT_EQ(adjusted(venture, once), once) << backed << capped << last << action;
        }
}

TEST(VentureScope, S0_39_one_decision_is_enforced_in_a_pass_whether_it_was_rewritten_or_not) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.propose("reflect");
  const Outcome outcome = desk.outcome("enforce_policy");
  EXPECT_EQ(trail_of(outcome), Json{"reflect"});
  EXPECT_TRUE(rules_of(outcome).empty());
  desk.propose("finish");
  const Outcome rewritten = desk.outcome("enforce_policy");
  EXPECT_EQ(trail_of(rewritten), (Json{"finish", "calculate"}));
  EXPECT_EQ(rules_of(rewritten), Words{"calculation"});
}

TEST(VentureScope, S0_40_an_unknown_action_is_a_failure_never_a_default) {
  VentureDesk desk;
  desk.outcome("prepare");
  for (const char* action : {"dance", ""}) {
    desk.propose(action);
    const StepResult result = desk.at("enforce_policy");
    ASSERT_TRUE(!result.ok()) << action;
    EXPECT_EQ(result.error().error, "invalid_action");
    EXPECT_FALSE(result.error().retryable);
  }
}

// --- the rule book ---------------------------------------------------------------------------------------------------
Json rules_say(VentureDesk& desk) {
  StepInput input;
  input.data = desk.data;
  input.budgets = desk.used;
  input.caps = desk.caps;
  const Json messages = planner_prompt(venture_of(input), input);
  return decide_by_rules(Json::parse(messages.back()["content"].get<std::string>()));
}

TEST(VentureScope, the_rule_book_searches_then_asks_then_calculates_then_finishes) {
  VentureDesk desk;
  desk.outcome("prepare");
  EXPECT_EQ(rules_say(desk)["action"], "search");
  EXPECT_EQ(rules_say(desk)["target_path"], "a");
  desk.data["tries"]["a"] = {{"searched", 1}};
  EXPECT_EQ(rules_say(desk)["action"], "ask_user");
  desk.data["tries"]["a"] = {{"searched", 1}, {"asked", 1}};
  EXPECT_EQ(rules_say(desk)["target_path"], "b");
  desk.use_up("ask");
  EXPECT_EQ(rules_say(desk)["action"], "calculate");
  desk.use_up("calc");
  EXPECT_EQ(rules_say(desk)["action"], "finish");
}

}  // namespace
}  // namespace cairn
