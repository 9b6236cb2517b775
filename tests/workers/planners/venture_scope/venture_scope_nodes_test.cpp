// Each node of venture_scope alone, from literal channels to its label, patch and facts.
#include "tests/workers/planners/venture_desk.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/venture_scope/answers.hpp"
#include "workers/planners/venture_scope/policy.hpp"
#include "workers/planners/venture_scope/profile.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {
namespace {

using test::gate_desk;
using test::GateCase;
using test::VentureDesk;
using Words = std::vector<std::string>;

// --- tick and what is asked first ------------------------------------------------------------------------------------
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

// --- prepare ---------------------------------------------------------------------------------------------------------
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

// --- the gates -------------------------------------------------------------------------------------------------------
std::string expected_gate(const GateCase& a) {
  if (a.backed && a.capped && (a.last == "BLOCKED" || a.last == "ERROR")) return "finish_abort";
  if (a.backed && a.last == "SUCCESS" && a.current) return "finish_success";
  return "continue";
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

// total = half * 2, half = a / b: the calculation reads b only through a formula.
VentureDesk desk_with_halves() {
  VentureDesk desk;
  desk.data["profile"]["fields"]["half"] = {{"formula", "a / b"}};
  desk.data["profile"]["fields"]["total"]["formula"] = "half * 2";
  desk.outcome("prepare");
  desk.set("a", 6);
  desk.set("b", 3);
  desk.outcome("prepare");
  desk.outcome("calculate");
  EXPECT_EQ(desk.label("calc_gate"), "finish_success");
  return desk;
}

TEST(VentureScope, S0_18_a_success_is_stale_when_what_it_read_can_no_longer_be_derived) {
  VentureDesk desk = desk_with_halves();
  desk.set("b", 0);
  const Outcome prepared = desk.outcome("prepare");
  EXPECT_EQ(prepared.patch["prepared"][2]["faults"]["half"], "Expected a divisor other than 0, but b is 0.");
  EXPECT_EQ(desk.label("calc_gate"), "continue") << "half is not 2 any more";
  desk.outcome("calculate");
  EXPECT_EQ(desk.data["last_calculation"]["status"], "BLOCKED");
  EXPECT_TRUE(desk.data["fields"]["total"]["value"].is_null());
  desk.set("b", 2);
  desk.outcome("prepare");
  EXPECT_EQ(desk.data["fields"]["half"]["value"], 3);
  desk.outcome("calculate");
  EXPECT_EQ(desk.label("calc_gate"), "finish_success");
  EXPECT_EQ(desk.data["last_calculation"]["result"], 6);
}

TEST(VentureScope, S0_18_a_success_is_stale_when_something_deep_below_it_changed) {
  VentureDesk desk = desk_with_halves();
  desk.set("a", 12);
  desk.outcome("prepare");
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

// --- proposals -------------------------------------------------------------------------------------------------------
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

// --- what is found, said and calculated ------------------------------------------------------------------------------
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

TEST(VentureScope, U3_what_was_said_or_given_is_never_overwritten_by_a_document) {
  for (const char* source : {"user", "input"}) {
    VentureDesk desk;
    desk.outcome("prepare");
    desk.data["fields"]["a"] = {{"value", 500}, {"source", source}, {"version", 1}};
    desk.data["observation"] = {{"path", "a"}, {"query", "alpha"}, {"hits", hits("The alpha was 7.")}};
    const Outcome outcome = desk.outcome("observe");
    EXPECT_EQ(desk.data["fields"]["a"]["value"], 500) << source;
    EXPECT_EQ(desk.data["fields"]["a"]["source"], source);
    EXPECT_EQ(desk.data["findings"]["a"][0]["value"], 7) << "but it is kept";
    EXPECT_EQ(VentureDesk::records(outcome, RecordKind::decision_proposed).at(0)["action"], "keep");
  }
  VentureDesk desk;
  desk.data["fields"] = {{"a", 2}, {"b", 3}, {"total", 100}};
  desk.outcome("prepare");
  desk.outcome("calculate");
  EXPECT_EQ(desk.data["fields"]["total"]["value"], 100) << "nor by a calculation";
  EXPECT_EQ(desk.data["last_calculation"]["result"], 6);
}

// The value of the field `a` after an answer; null if it was refused.
Json taken_for_a(VentureDesk& desk, const Json& answer) {
  desk.data["fields"].erase("a");
  desk.data["tries"] = Json::object();
  desk.data["pending_question"] = {{"field", "a"}};
  desk.outcome("observe_user", answer);
  return desk.data["fields"].contains("a") ? desk.data["fields"]["a"]["value"] : Json();
}

TEST(VentureScope, S0_09_an_answer_may_end_with_the_unit_of_its_field) {
  VentureDesk desk;
  desk.data["profile"]["fields"]["a"]["unit"] = "years";
  desk.outcome("prepare");
  EXPECT_EQ(taken_for_a(desk, "20 years"), 20);
  EXPECT_EQ(taken_for_a(desk, "1 Year"), 1);
  EXPECT_EQ(taken_for_a(desk, "20 months"), nullptr);
  EXPECT_EQ(taken_for_a(desk, "years"), nullptr);
}

TEST(VentureScope, answers_are_values_only_if_they_fit_the_field) {
  VentureDesk desk;
  desk.outcome("prepare");
  const auto answered = [&desk](const Json& answer) { return taken_for_a(desk, answer); };
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

// --- each node alone -------------------------------------------------------------------------------------------------
// The channels of a run of which nothing is known yet: total = a * b.
Json literal_channels() {
  return Json::parse(R"({"question":"How much?","region":"Norland","currency":"EUR","auto_finish_ok":true,"fields":{},
    "profile":{"name":"tiny","auto_finish":true,"calculator":{"target":"total"},"search":{"tool":"find"}},
    "schema":{"a":{"sources":["search","user"],"query":"alpha of {region}","question":"What is a?",
                   "find":{"about":["alpha"]}},
              "b":{"sources":["user"],"question":"What is b?"},
              "total":{"formula":"a * b"}},
    "recipes":{"total":{"formula":"a * b","components":["a","b"],"origin":"static"}}})");
}

Json literal_field(double value) { return {{"value", value}, {"version", 1}, {"source", "user"}}; }
const Json known_fields = {{"a", literal_field(2)}, {"b", literal_field(3)}};
const Json success = {{"status", "SUCCESS"}, {"path", "total"}, {"result", 6}, {"inputs", {{"a", 1}, {"b", 1}}}};
const Json alpha_hit = {{{"title", "Alpha"}, {"source", "docs/a.md"}, {"excerpt", "The alpha of Norland was 7."}}};

Json decision_to(const std::string& action, const std::string& target) {
  return {{"action", action}, {"target_path", target}, {"query", ""},
          {"question", ""},   {"reason", "It is so."}, {"source", "model"}};
}

// A node, channels in place of the literal ones, what the step was given, and what it must leave: its label, each
// channel it writes, and of each some values by their pointers.
struct NodeAlone {
  std::string node;
  Json channels;
  Json given;
  std::string label;
  Json writes;
};

const std::vector<NodeAlone> nodes_alone = {
    {"tick", {{"region", ""}}, nullptr, "needs_region", {{"/pending_question/field", "core.region"}}},
    {"prepare",
     {{"profile", test::tiny_profile()}, {"schema", nullptr}, {"recipes", nullptr}},
     nullptr,
     "prepared",
     {{"/profile/name", "tiny"},
      {"/auto_finish_ok", true},
      {"/schema/total/formula", "a * b"},
      {"/schema_changed", true},
      {"/recipes/total/components", {"a", "b"}},
      {"/prepared/1/built", 0},
      {"/open_tasks", Json::array()}}},
    {"calc_gate",
     {{"fields", known_fields}, {"last_calculation", success}},
     nullptr,
     "finish_success",
     {{"/status", "done"}, {"/reason", "calculated"}}},
    {"acquire",
     {{"last_calculation", {{"status", "BLOCKED"}, {"path", "total"}, {"blocked_path", "b"}}}},
     nullptr,
     "blocked_task",
     {{"/task", {{"path", "b"}, {"kind", "ask_user"}, {"question", "What is b?"}}}}},
    {"calc_adjust",
     {{"fields", known_fields}},
     nullptr,
     "adjusted",
     {{"/decision/action", "calculate"}, {"/decision/source", "rule"}}},
    {"route_direct",
     {{"task", {{"path", "a"}, {"kind", "search"}, {"query", "alpha of Norland"}}}},
     nullptr,
     "routed",
     {{"/decision/action", "search"}, {"/decision/target_path", "a"}, {"/decision/query", "alpha of Norland"}}},
    {"decide", Json::object(), nullptr, "decided", {{"/decision/source", "model"}, {"/decided_by", "scripted"}}},
    {"enforce_policy",
     {{"decision", decision_to("ask_user", "a")}},
     nullptr,
     "search",
     {{"/decision/action", "search"}, {"/decision/query", "alpha of Norland"}, {"/decision/source", "policy"}}},
    {"search",
     {{"decision", decision_to("search", "a")}},
     nullptr,
     "has_observation",
     {{"/tries/a/searched", 1}, {"/observation/query", "alpha of Norland"}, {"/observation/hits", alpha_hit}}},
    {"read_question",
     {{"question", "How large is the market for bikes in Norland?"}, {"region", ""}},
     nullptr,
     "read",
     {{"/region", "Norland"}, {"/question_read/product", "bikes"}}},
    {"extract",
     {{"observation", {{"path", "a"}, {"query", "alpha"}, {"hits", alpha_hit}}}},
     nullptr,
     "extracted",
     {{"/extraction/by", "scripted"}, {"/extraction/readings/0/value", 7}, {"/read_by", "scripted"}}},
    {"propose_parts",
     {{"parts_wanted", {{"path", "b"}, {"back", "acquire"}}}},
     nullptr,
     "acquire",
     {{"/dynamic_decompositions/b/formula", "b.one + b.two"},
      {"/recipes/b/origin", "dynamic"},
      {"/schema/b.two/sources", {"user"}},
      {"/parts_wanted", nullptr}}},
    {"observe",
     {{"observation", {{"path", "a"}, {"query", "alpha"}, {"hits", alpha_hit}}}},
     nullptr,
     "observed",
     {{"/fields/a/value", 7},
      {"/fields/a/source", "search"},
      {"/findings/a/0/quote", "The alpha of Norland was 7."},
      {"/observations/0/hits", 1},
      {"/extraction", nullptr},
      {"/observation", nullptr}}},
    {"observe_user",
     {{"pending_question", {{"field", "b"}}}},
     3,
     "observed",
     {{"/fields/b/value", 3},
      {"/fields/b/source", "user"},
      {"/tries/b/asked", 1},
      {"/observations/0/answer", 3},
      {"/pending_question", nullptr}}},
    {"calculate",
     {{"fields", known_fields}},
     nullptr,
     "calculated",
     {{"/last_calculation/result", 6}, {"/fields/total/value", 6}}},
    {"reflect",
     {{"decision", decision_to("reflect", "a")}},
     nullptr,
     "reflected",
     {{"/reflections", {{{"path", "a"}, {"reason", "It is so."}, {"iteration", 0}}}}}},
    {"finish",
     {{"fields", known_fields}, {"last_calculation", success}, {"decision", decision_to("finish", "")}},
     nullptr,
     "done",
     {{"/status", "done"}, {"/reason", "calculated"}, {"/report/result", 6}, {"/report/missing", Json::array()}}},
};

// Runs the node with a model and a tool that answer always alike.
Outcome run_alone(const NodeAlone& one) {
  VentureDesk desk;
  desk.data = literal_channels();
  desk.data.update(one.channels);
  if (desk.is_pure(one.node)) return desk.outcome(one.node, one.given);
  Json decision = decision_to("search", "a");
  decision.erase("source");
  const Json reading = {{"field", "a"}, {"passage", 0},   {"value", 7},   {"scale", 1},
                        {"unit", ""},   {"currency", ""}, {"period", ""}, {"quote", "The alpha of Norland was 7."}};
  const auto part = [](const char* path) {
    return Json{{"path", path}, {"title", path},        {"type", "number"},      {"unit", ""},
                {"query", ""},  {"question", "Which?"}, {"about", Json::array()}};
  };
  const Json replies = {
      {{"node", "decide"}, {"value", std::move(decision)}},
      {{"node", "read_question"},
       {"value", {{"region", "Norland"}, {"currency", ""}, {"product", "bikes"}, {"period", ""}}}},
      {{"node", "extract"}, {"value", {{"readings", {reading}}}}},
      {{"node", "propose_parts"},
       {"value", {{"formula", "b.one + b.two"}, {"parts", {part("b.one"), part("b.two")}}, {"reason", "It is."}}}}};
  const std::unique_ptr<Model> model = make_scripted_model({{"replies", replies}});
  ToolSpec find;
  find.name = "find";
  find.does = ToolSpec::Instant{[](const ToolCall&) -> ToolAnswer { return Json{{"hits", alpha_hit}}; }};
  const std::unique_ptr<Tools> tools = make_tools({find}, 1);
  Ports ports(*model, *tools);
  return *desk.at(one.node, ports);
}

TEST(VentureScope, S0_47_every_node_runs_alone_from_literal_channels_to_its_writes) {
  std::set<std::string> seen;
  for (const NodeAlone& one : nodes_alone) {
    SCOPED_TRACE(one.node);
    seen.insert(one.node);
    const Outcome outcome = run_alone(one);
    EXPECT_EQ(outcome.label, one.label);
    std::set<std::string> expected;
    for (const auto& [pointer, value] : one.writes.items()) {
      const Json::json_pointer place(pointer);
      EXPECT_EQ(outcome.patch.contains(place) ? outcome.patch[place] : Json("no such write"), value) << pointer;
      expected.insert(pointer.substr(1, pointer.find('/', 1) - 1));
    }
    std::set<std::string> written;
    for (const auto& [name, value] : outcome.patch.items()) written.insert(name);
    EXPECT_EQ(written, expected);
  }
  std::set<std::string> working, with_port;
  VentureDesk desk;
  for (const Node& node : desk.graph->nodes) {
    if (node.verb() != Verb::do_) continue;
    working.insert(node.name);
    if (!desk.is_pure(node.name)) with_port.insert(node.name);
  }
  EXPECT_EQ(seen, working) << "every node that has a handler";
  EXPECT_EQ(working.size(), 17U);
  EXPECT_EQ(with_port, (std::set<std::string>{"decide", "extract", "propose_parts", "read_question", "search"}));
}

}  // namespace
}  // namespace cairn
