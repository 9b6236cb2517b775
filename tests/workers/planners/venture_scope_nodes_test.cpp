// Each node of venture_scope alone, from literal channels to its label, patch and facts; and the rules it decides by.
#include "tests/workers/planners/venture_desk.hpp"
#include "workers/planners/venture_scope/answers.hpp"
#include "workers/planners/venture_scope/policy.hpp"
#include "workers/planners/venture_scope/profile.hpp"
#include "workers/planners/venture_scope/prompts.hpp"

namespace cairn {
namespace {

using test::VentureDesk;
using Words = std::vector<std::string>;

// --- tick and what is asked first
// --------------------------------------------------------------------------------------
TEST(VentureScope, S0_04_an_aborted_run_goes_to_finish) {
  VentureDesk desk;
  desk.data["status"] = "aborted";
  EXPECT_EQ(desk.label("tick"), "aborted");
}

TEST(VentureScope, S0_07_the_first_true_label_is_taken) {
  for (int bits = 0; bits < 8; ++bits) {
    VentureDesk desk;
    const bool aborted = (bits & 1) != 0;
    const bool no_region = (bits & 2) != 0;
    const bool no_currency = (bits & 4) != 0;
    if (aborted) desk.data["status"] = "aborted";
    if (no_region) desk.data["region"] = " ";
    if (no_currency) desk.data["currency"] = "money";
    const std::string expected = aborted       ? "aborted"
                                 : no_region   ? "needs_region"
                                 : no_currency ? "needs_currency"
                                               : "ready";
    EXPECT_EQ(desk.label("tick"), expected) << bits;
  }
}

TEST(VentureScope, S0_09_each_answer_goes_to_its_own_handler) {
  VentureDesk desk;
  desk.data.erase("region");
  desk.data.erase("currency");
  ASSERT_EQ(desk.label("tick"), "needs_region");
  EXPECT_EQ(desk.label("observe_user", "EU"), "observed");
  EXPECT_EQ(desk.data["region"], "EU");
  ASSERT_EQ(desk.label("tick"), "needs_currency");
  desk.outcome("observe_user", "eur");
  EXPECT_EQ(desk.data["currency"], "EUR");
  desk.outcome("prepare");
  desk.propose("ask_user", "b");
  desk.outcome("enforce_policy");
  desk.outcome("observe_user", 5);
  EXPECT_EQ(desk.data["fields"]["b"]["value"], 5);
}

TEST(VentureScope, S0_11_an_answer_that_is_none_is_not_stored) {
  VentureDesk desk;
  desk.data["region"] = "";
  for (const Json& answer : {Json(""), Json("  "), Json(nullptr), Json(7), Json(std::string(500, 'x'))}) {
    ASSERT_EQ(desk.label("tick"), "needs_region");
    desk.outcome("observe_user", answer);
    EXPECT_EQ(desk.data["region"], "") << answer;
  }
  desk.data["region"] = "EU";
  desk.data["currency"] = "";
  ASSERT_EQ(desk.label("tick"), "needs_currency");
  desk.outcome("observe_user", "Euros");
  EXPECT_EQ(desk.label("tick"), "needs_currency");
}

TEST(VentureScope, a_person_may_abort_at_any_question) {
  VentureDesk desk;
  desk.data["region"] = "";
  desk.outcome("tick");
  desk.outcome("observe_user", Json{{"abort", true}});
  EXPECT_EQ(desk.label("tick"), "aborted");
  EXPECT_EQ(desk.label("finish"), "aborted");
  EXPECT_EQ(desk.data["reason"], "aborted by a person");
}

// --- prepare
// -----------------------------------------------------------------------------------------------------------
TEST(VentureScope, S0_12_prepare_decomposes_builds_and_composes_in_this_order_and_always_alike) {
  VentureDesk desk;
  desk.data["profile"]["fields"]["b"]["requires_components"] = true;
  desk.data["fields"] = {{"b.one", 2}, {"b.two", 3}};
  VentureDesk other = VentureDesk();
  other.data = desk.data;
  ASSERT_TRUE(desk.is_pure("prepare"));
  const StepResult refused = desk.at("prepare");
  EXPECT_TRUE(!refused.ok()) << "parts are no fields of the input";
  desk.data["fields"] = Json::object();
  other.data["fields"] = Json::object();
  const Outcome first = desk.outcome("prepare");
  EXPECT_EQ(canonical(first.patch), canonical(other.outcome("prepare").patch));
  ASSERT_EQ(first.patch["prepared"].size(), 3U);
  EXPECT_EQ(first.patch["prepared"][0], (Json{{"pass", "decompositions"}, {"added", {"b"}}}));
  EXPECT_EQ(first.patch["prepared"][1], (Json{{"pass", "recipes"}, {"built", 1}}));
  EXPECT_EQ(first.patch["prepared"][2]["pass"], "composition");
  desk.set("b.one", 2);
  desk.set("b.two", 3);
  const Outcome later = desk.outcome("prepare");
  EXPECT_EQ(later.patch["prepared"][2]["composed"], Json{"b"});
  EXPECT_EQ(desk.data["fields"]["b"]["value"], 5);
  EXPECT_EQ(desk.data["fields"]["b"]["source"], "derived");
}

TEST(VentureScope, S0_13_the_schema_is_written_only_when_composition_changed_it) {
  VentureDesk desk;
  EXPECT_EQ(desk.outcome("prepare").patch["schema_changed"], true) << "it has been empty";
  const Outcome same = desk.outcome("prepare");
  EXPECT_FALSE(same.patch.contains("schema"));
  EXPECT_EQ(same.patch["schema_changed"], false);
  desk.data["dynamic_decompositions"]["b"] = test::tiny_profile()["decompositions"]["b"];
  const Outcome grown = desk.outcome("prepare");
  EXPECT_TRUE(grown.patch["schema"].contains("b.one"));
  EXPECT_EQ(grown.patch["schema_changed"], true);
}

TEST(VentureScope, composition_follows_changed_components_and_leaves_what_people_said) {
  VentureDesk desk;
  desk.data["profile"]["fields"]["b"]["requires_components"] = true;
  desk.outcome("prepare");
  desk.set("b.one", 1);
  desk.set("b.two", 1);
  desk.outcome("prepare");
  desk.set("b.two", 9);
  desk.outcome("prepare");
  EXPECT_EQ(desk.data["fields"]["b"]["value"], 10);
  EXPECT_EQ(desk.data["fields"]["b"]["version"], 2);
  EXPECT_FALSE(desk.outcome("prepare").patch.contains("fields")) << "nothing has changed";
  desk.set("b", 77);
  desk.set("b.one", 5);
  desk.outcome("prepare");
  EXPECT_EQ(desk.data["fields"]["b"]["value"], 77);
}

TEST(VentureScope, a_profile_that_cannot_be_used_is_told) {
  const auto fault_with = [](const char* pointer, Json value) {
    Json profile = test::tiny_profile();
    profile[Json::json_pointer(pointer)] = std::move(value);
    const Result<Json> read = read_profile(profile);
    return read ? std::string("none") : read.error().message;
  };
  EXPECT_EQ(fault_with("/name", "tiny"), "none");
  EXPECT_NE(fault_with("/fields", Json::object()).find("a profile with fields"), std::string::npos);
  EXPECT_NE(fault_with("/fields/a/type", "colour").find("number, share, money or text"), std::string::npos);
  EXPECT_NE(fault_with("/fields/a/sources", Json{"oracle"}).find("search or user"), std::string::npos);
  EXPECT_NE(fault_with("/fields/a/find", Json::object()).find("what to find it by"), std::string::npos);
  EXPECT_NE(fault_with("/fields/total/formula", "a * nobody").find("to name fields"), std::string::npos);
  EXPECT_NE(fault_with("/fields/total/formula", "a *").find("it ends there"), std::string::npos);
  EXPECT_NE(fault_with("/fields/total/formula", "a * total").find("without a cycle"), std::string::npos);
  EXPECT_NE(fault_with("/decompositions/b/formula", "total").find("without a cycle"), std::string::npos);
  EXPECT_NE(fault_with("/calculator", Json{{"target", "b"}}).find("a field with a formula"), std::string::npos);
  EXPECT_NE(fault_with("/fields/Bad Path", Json::object()).find("path like"), std::string::npos);
  EXPECT_EQ(read_profile("nowhere").error().code, Code::not_found);
  EXPECT_EQ(read_profile(7).error().code, Code::invalid);
  EXPECT_EQ((*read_profile(nullptr))["name"], profile_default);
}

// --- the gates
// ---------------------------------------------------------------------------------------------------------
struct GateCase {
  bool backed;
  bool capped;
  std::string last;
  bool current;
};

std::string expected_gate(const GateCase& a) {
  if (a.backed && a.capped && (a.last == "BLOCKED" || a.last == "ERROR")) return "finish_abort";
  if (a.backed && a.last == "SUCCESS" && a.current) return "finish_success";
  return "continue";
}

VentureDesk gate_desk(const GateCase& a) {
  VentureDesk desk;
  if (!a.backed) desk.data["profile"].erase("calculator");
  desk.outcome("prepare");
  desk.set("a", 2);
  desk.set("b", 3);
  if (!a.last.empty()) desk.calculation(a.last, a.last == "BLOCKED" ? "a" : "");
  if (!a.current) desk.set("a", 4);
  if (a.capped) desk.use_up("calc");
  return desk;
}

TEST(VentureScope, S0_16_a_blocked_calculation_at_its_cap_aborts) {
  for (const char* last : {"BLOCKED", "ERROR"}) {
    VentureDesk desk = gate_desk({true, true, last, true});
    const Outcome outcome = desk.outcome("calc_gate");
    EXPECT_EQ(outcome.label, "finish_abort");
    EXPECT_EQ(VentureDesk::facts<BudgetExhausted>(outcome).at(0).name, "calc");
    EXPECT_EQ(desk.data["status"], "aborted");
    EXPECT_EQ(desk.label("finish"), "aborted");
  }
}

TEST(VentureScope, S0_17_a_current_success_finishes) {
  VentureDesk desk = gate_desk({true, false, "SUCCESS", true});
  EXPECT_EQ(desk.label("calc_gate"), "finish_success");
  EXPECT_EQ(desk.data["status"], "done");
}

TEST(VentureScope, S0_18_a_success_whose_input_changed_is_stale) {
  VentureDesk desk = gate_desk({true, false, "SUCCESS", true});
  desk.set("c", 1);
  EXPECT_EQ(desk.label("calc_gate"), "finish_success") << "the calculation never read it";
  desk = gate_desk({true, false, "SUCCESS", true});
  desk.set("b", 3);
  EXPECT_EQ(desk.label("calc_gate"), "continue");
}

TEST(VentureScope, S0_19_every_other_case_continues) {
  for (const bool backed : {true, false})
    for (const bool capped : {true, false})
      for (const char* last : {"", "SUCCESS", "BLOCKED", "ERROR"})
        for (const bool current : {true, false}) {
          const GateCase a{backed, capped, last, current};
          EXPECT_EQ(gate_desk(a).label("calc_gate"), expected_gate(a)) << backed << capped << last << current;
        }
}

TEST(VentureScope, S0_20_a_blocked_calculation_is_unblocked_without_a_model) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.calculation("BLOCKED", "a");
  EXPECT_EQ(desk.label("acquire"), "blocked_task");
  EXPECT_EQ(desk.data["task"], (Json{{"path", "a"}, {"kind", "search"}, {"query", "alpha of Norland"}}));
  desk.data["tries"]["a"] = {{"searched", 1}};
  desk.outcome("acquire");
  EXPECT_EQ(desk.data["task"], (Json{{"path", "a"}, {"kind", "ask_user"}, {"question", "What is a?"}}));
  desk.set("a", 1);
  desk.outcome("acquire");
  EXPECT_EQ(desk.data["task"], (Json{{"path", "a"}, {"kind", "calculate"}})) << "what blocked it is there";
  desk.calculation("ERROR");
  EXPECT_EQ(desk.label("acquire"), "decide");
}

TEST(VentureScope, S0_21_a_field_that_cannot_be_had_is_decomposed) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.calculation("BLOCKED", "b");
  desk.data["tries"]["b"] = {{"asked", 1}};
  const Outcome outcome = desk.outcome("acquire");
  EXPECT_EQ(outcome.label, "blocked_task");
  EXPECT_EQ(desk.data["task"]["path"], "b.one");
  const auto decomposed = VentureDesk::facts<TaskDecomposed>(outcome);
  ASSERT_EQ(decomposed.size(), 1U);
  EXPECT_EQ(decomposed[0].target, "b");
  EXPECT_EQ(decomposed[0].children.size(), 2U);
  EXPECT_TRUE(desk.data["dynamic_decompositions"].contains("b"));
  EXPECT_TRUE(desk.data["schema"].contains("b.two"));

  VentureDesk without;
  without.data["profile"].erase("decompositions");
  without.outcome("prepare");
  without.calculation("BLOCKED", "b");
  without.data["tries"]["b"] = {{"asked", 1}};
  EXPECT_EQ(without.label("acquire"), "decide") << "no task, so the third rule counts, and a is missing";
}

TEST(VentureScope, S0_22_only_a_complete_schema_finishes_by_itself) {
  for (int bits = 0; bits < 8; ++bits) {
    VentureDesk desk;
    desk.outcome("prepare");
    desk.data["auto_finish_ok"] = (bits & 1) != 0;
    desk.set("b", 1);
    if ((bits & 2) != 0) desk.set("a", 1);
    if ((bits & 4) == 0) desk.data["open_tasks"] = Json{{{"path", "x"}, {"kind", "ask_user"}}};
    EXPECT_EQ(desk.label("acquire"), bits == 7 ? "auto_finish" : "decide") << bits;
  }
}

TEST(VentureScope, S0_23_gates_and_rules_are_pure_and_cannot_reach_a_model) {
  VentureDesk desk;
  for (const char* node : {"tick", "prepare", "calc_gate", "acquire", "calc_adjust", "route_direct", "enforce_policy",
                           "observe", "observe_user", "calculate", "reflect", "finish"})
    EXPECT_TRUE(desk.is_pure(node)) << node;
}

// --- proposals
// ---------------------------------------------------------------------------------------------------------
TEST(VentureScope, S0_24_a_task_becomes_a_decision_by_rule) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.data["task"] = {{"path", "a"}, {"kind", "search"}, {"query", "alpha"}};
  const Outcome outcome = desk.outcome("route_direct");
  const Json proposed = VentureDesk::records(outcome, RecordKind::decision_proposed).at(0);
  EXPECT_EQ(proposed["action"], "search");
  EXPECT_EQ(proposed["source"], "rule");
  EXPECT_EQ(desk.data["decision"]["query"], "alpha");
  desk.data["task"] = {{"path", "a"}, {"kind", "calculate"}};
  desk.use_up("calc");
  desk.outcome("route_direct");
  EXPECT_EQ(desk.data["decision"]["action"], "finish") << "the calculation adjustment is applied";
}

TEST(VentureScope, S0_25_finishing_by_itself_calculates_first) {
  VentureDesk desk;
  desk.outcome("prepare");
  const Outcome outcome = desk.outcome("calc_adjust");
  EXPECT_EQ(desk.data["decision"]["action"], "calculate");
  EXPECT_EQ(VentureDesk::records(outcome, RecordKind::decision_proposed).at(0)["source"], "rule");
  desk.data["profile"].erase("calculator");
  desk.outcome("calc_adjust");
  EXPECT_EQ(desk.data["decision"]["action"], "finish");
}

// --- the policy
// --------------------------------------------------------------------------------------------------------
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

// --- what is found, said and calculated
// ----------------------------------------------------------------------------------
Json hits(const std::string& text) { return Json{{{"title", "A title"}, {"source", "docs/a.md"}, {"excerpt", text}}}; }

TEST(VentureScope, a_document_gives_a_value_with_its_sentence_or_none) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.data["observation"] = {{"path", "a"}, {"query", "alpha"}, {"hits", hits("The alpha was 7. And so on.")}};
  const Outcome outcome = desk.outcome("observe");
  EXPECT_EQ(desk.data["fields"]["a"]["value"], 7.0);
  EXPECT_EQ(desk.data["fields"]["a"]["evidence"]["says"], "The alpha was 7.");
  EXPECT_EQ(VentureDesk::facts<PlanRevised>(outcome).at(0).changes[0]["status"], "succeeded");
  desk.data["observation"] = {{"path", "b"}, {"query", "beta"}, {"hits", hits("Nothing here.")}};
  desk.outcome("observe");
  EXPECT_FALSE(desk.data["fields"].contains("b"));
  EXPECT_EQ(desk.data["observations"].size(), 2U);
}

TEST(VentureScope, answers_are_values_only_if_they_fit_the_field) {
  VentureDesk desk;
  desk.outcome("prepare");
  const auto answered = [&desk](const Json& answer) {
    desk.data["fields"].erase("a");
    desk.data["tries"] = Json::object();
    desk.data["pending_question"] = {{"field", "a"}};
    desk.outcome("observe_user", answer);
    return desk.data["fields"].contains("a") ? desk.data["fields"]["a"]["value"] : Json();
  };
  EXPECT_EQ(answered(7), 7);
  EXPECT_EQ(answered("0.5 thousand"), 500.0);
  EXPECT_EQ(answered("12 %"), nullptr);
  EXPECT_EQ(answered(1001), nullptr) << "its limit";
  EXPECT_EQ(desk.data["tries"], Json::object()) << "so it may be asked again";
  EXPECT_EQ(answered("unknown"), nullptr);
  EXPECT_EQ(desk.data["tries"]["a"]["asked"], 1) << "so it is not asked again";
}

TEST(VentureScope, a_calculation_says_what_it_read_or_what_it_lacks) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.set("a", 2);
  desk.outcome("calculate");
  EXPECT_EQ(desk.data["last_calculation"]["status"], "BLOCKED");
  EXPECT_EQ(desk.data["last_calculation"]["blocked_path"], "b");
  desk.set("b", 3);
  desk.outcome("calculate");
  EXPECT_EQ(desk.data["last_calculation"]["status"], "SUCCESS");
  EXPECT_EQ(desk.data["last_calculation"]["result"], 6);
  EXPECT_EQ(desk.data["last_calculation"]["inputs"], (Json{{"a", 1}, {"b", 1}}));
  desk.data["schema"]["total"]["formula"] = "a / (b - 3)";
  desk.outcome("calculate");
  EXPECT_EQ(desk.data["last_calculation"]["status"], "ERROR");
  EXPECT_EQ(desk.data["last_calculation"]["message"], "Expected a divisor other than 0, but (b - 3) is 0.");
}

TEST(VentureScope, S0_44_reflecting_notes_why) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.propose("reflect", "a", "Two documents disagree.");
  desk.used["iterations"] = 4;
  EXPECT_EQ(desk.label("reflect"), "reflected");
  EXPECT_EQ(desk.data["reflections"], (Json{{{"path", "a"}, {"reason", "Two documents disagree."}, {"iteration", 4}}}));
}

TEST(VentureScope, S0_47_every_pure_node_runs_alone_from_literal_channels) {
  VentureDesk desk;
  desk.outcome("prepare");
  desk.propose("reflect");
  for (const char* node : {"tick", "prepare", "calc_gate", "acquire", "calc_adjust", "route_direct", "observe",
                           "observe_user", "calculate", "reflect", "finish"})
    EXPECT_TRUE(desk.at(node).ok()) << node;
}

// --- the rule book
// -----------------------------------------------------------------------------------------------------
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
