// The page agent end to end: its real graph with scripted replies in a model's place, and a client that brings its DOM.
#include "workers/planners/page_agent/page_agent.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/workers/planners/planner_run.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/planners/page_agent/prompts.hpp"
#include "workers/planners/page_agent/rules.hpp"
#include "workers/ports/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace {

using page_agent::Role;
using test::PlannerRun;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json says(const std::string& node, Json value) { return {{"node", node}, {"value", std::move(value)}}; }
Json fails(const std::string& node) {
  return {{"node", node}, {"error", {{"error", "refused"}, {"message", "The model is out."}, {"retryable", false}}}};
}

Json step(const std::string& description, const std::string& phase = "all") {
  return {{"description", description},
          {"reasoning", "r"},
          {"tool_type", "DOM"},
          {"expected_outcome", "e"},
          {"phase", phase}};
}
Json steps(int count, const std::string& name = "step") {
  Json made = Json::array();
  for (int i = 0; i < count; ++i) made.push_back(step(name + " " + std::to_string(i)));
  return made;
}
Json plan_of(Json made, const std::vector<Json>& contingencies = {}) {
  return {{"steps", std::move(made)}, {"contingencies", contingencies}};
}
Json contingency(const std::string& type, const std::string& match, const std::string& action, bool skips = true) {
  return {{"type", type}, {"match", match}, {"action", action}, {"skip_correction", skips}};
}
Json verdict(bool succeeded, bool completed, double confidence = 0.9) {
  return {{"action_succeeded", succeeded}, {"task_completed", completed}, {"confidence", confidence}};
}
Json sub_verdict(bool succeeded, bool sub_task, double confidence, Json outputs = Json::object()) {
  Json said = verdict(succeeded, false, confidence);
  said["sub_task_completed"] = sub_task;
  said["outputs"] = std::move(outputs);
  return said;
}
Json checked(bool valid, Json changes = Json::array(), bool full = false, const std::string& reason = "r") {
  return {{"valid", valid}, {"reason", reason}, {"suggested_changes", std::move(changes)}, {"needs_full_replan", full}};
}
Json analysis(bool searches, bool sufficient = false, double confidence = 0.1) {
  return {{"needs_search", searches},
          {"query", "q"},
          {"rag_sufficient", sufficient},
          {"grounding_confidence", confidence},
          {"reason", "r"}};
}
Json acts(const std::string& action) { return {{"thought", "t"}, {"action", action}}; }
Json refines(const std::string& action, const std::string& tool_type = "DOM") {
  return {{"thought", "t"}, {"tool_type", tool_type}, {"action", action}};
}
Json sub_tasks(int count) {
  Json tasks = Json::array();
  for (int i = 0; i < count; ++i) {
    tasks.push_back({{"name", "task " + std::to_string(i)},
                     {"objective", "objective " + std::to_string(i)},
                     {"inputs", Json::array()},
                     {"outputs", {"patient_id"}},
                     {"estimated_steps", 3}});
  }
  return {{"sub_tasks", tasks}};
}

// The replies of a test, and after them for each node what lets a run go on.
Json script_of(std::vector<Json> replies) {
  const std::map<std::string, Json> usual = {
      {"context_analysis", analysis(false)},   {"planning", plan_of(steps(3))},
      {"decompose_plan", sub_tasks(2)},        {"step_refinement", refines("click(1)")},
      {"action_generation", acts("click(1)")}, {"verification", verdict(true, false)},
      {"replanning", checked(true)},           {"correction", acts("click(2)")}};
  for (const auto& [node, value] : usual) {
    for (int i = 0; i < 40; ++i) replies.push_back(says(node, value));
  }
  return {{"replies", std::move(replies)}};
}

std::string dom_of(int rows, const std::string& more = "") {
  std::string dom = "<button id=1>Go</button><button id=2>Other</button><input id=3 name=\"name\" value=\"\">" + more;
  for (int i = 0; i < rows; ++i) dom += "<p>row " + std::to_string(i) + "</p>";
  return dom;
}

const std::string home = "http://a/";

// One run of a client that brings its DOM.
class Turns {
 public:
  Turns(std::initializer_list<Json> replies, Json more = Json::object(), std::unique_ptr<Tools> tools = nullptr)
      : Turns(std::move(more), make_scripted_model(script_of(replies)), std::move(tools)) {}
  Turns(Json more, std::unique_ptr<Model> model, std::unique_ptr<Tools> tools = nullptr)
      : planner(std::move(model), std::move(tools)) {
    Json input = {{"goal", "Add a new patient with name Jas"}, {"client", true}, {"url", home}, {"dom", dom_of(4)}};
    input.update(more);
    run = planner.run("page_agent", std::move(input));
  }

  Status try_answer(Json value) { return planner.client().command(run, Answer{"", std::move(value), "", {}}); }
  void turn(const std::string& dom = dom_of(4), const std::string& url = home, Json more = Json::object()) {
    Json value = {{"dom", dom}, {"url", url}};
    value.update(more);
    const Status answered = try_answer(std::move(value));
    ASSERT_TRUE(answered) << answered.error().message;
    planner.work(run);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }

  Json channel(const std::string& name) { return planner.channel(run, name); }
  std::vector<Json> events(const std::string& type) { return planner.events(run, type); }
  std::int64_t index() { return channel("turn")["index"].get<std::int64_t>(); }
  std::int64_t calls(const std::string& node) { return static_cast<std::int64_t>(planner.model().of(node).size()); }
  std::string prompt(const std::string& node) {
    return planner.model().of(node).back().messages.back()["content"].get<std::string>();
  }
  Json data(const std::string& node) { return page_agent::data_of_prompt(planner.model().of(node).back().messages); }
  std::string status() { return std::string(to_string(planner.state(run).status)); }
  // Labels by which the node was left, in their order.
  std::vector<std::string> labels(const std::string& node) {
    std::vector<std::string> found;
    for (const char* type : {"step_succeeded", "step_failed"}) {
      for (const Json& event : events(type)) {
        if (event["node"] == node && event.contains("label")) found.push_back(event["label"].get<std::string>());
      }
    }
    return found;
  }
  bool visited(const std::string& node) { return !labels(node).empty(); }

  PlannerRun planner;
  RunId run;
};

// A tool that finds something and counts how often it was asked.
std::unique_ptr<Tools> finder(std::shared_ptr<std::vector<Json>> asked) {
  ToolSpec spec;
  spec.name = "find";
  spec.does = NativeTool([asked](const ToolCall& call) {
    asked->push_back(call.inputs);
    return Json{{"found", "how to add a patient"}};
  });
  return make_tools({spec}, 1);
}

// --- the plan --------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_01_a_plan_is_made_only_when_there_is_none) {
  Turns task({});
  EXPECT_EQ(task.calls("planning"), 1);
  task.turn();
  EXPECT_EQ(task.calls("planning"), 1);
  EXPECT_EQ(task.labels("planning"), (std::vector<std::string>{"planned", "reused"}));
}

TEST(PageAgent, S2_02_a_new_task_is_analysed_searched_and_planned_from_all_that_is_known) {
  const auto asked = std::make_shared<std::vector<Json>>();
  Turns task({says("context_analysis", analysis(true))},
             {{"search", {{"tool", "find"}}}, {"rag_chunks", {"chunk one"}}, {"has_org_knowledge", true}},
             finder(asked));
  EXPECT_EQ(task.planner.path(task.run),
            (std::vector<std::string>{"observe", "context_analysis", "web_search", "create_task", "planning",
                                      "step_refinement", "outcome_prediction", "finalize"}));
  const std::vector<Json> created = task.events("plan_created");
  ASSERT_EQ(created.size(), 1U);
  EXPECT_EQ(created[0]["version"], 1);
  EXPECT_EQ(task.index(), 0);
  const Json data = task.data("planning");
  EXPECT_EQ(data["goal"], "Add a new patient with name Jas");
  EXPECT_EQ(data["url"], home);
  EXPECT_EQ(data["dom"], dom_of(4));
  EXPECT_EQ(data["rag_chunks"], Json::array({"chunk one"}));
  EXPECT_EQ(data["has_org_knowledge"], true);
  EXPECT_EQ(data["web_search_result"]["found"], "how to add a patient");
  EXPECT_EQ(data["context"]["id"], to_string(task.run));
  for (const Json& call : task.events("model_called")) {
    EXPECT_TRUE(call["node"] != "planning" || has(call["request"].dump(), "chunk one"));
  }
}

TEST(PageAgent, S2_03_the_analysis_alone_decides_on_searching) {
  const auto asked = std::make_shared<std::vector<Json>>();
  Json searching = step("Search the web");
  searching["tool_type"] = "SERVER";
  Turns task({says("context_analysis", analysis(false)), says("planning", plan_of({searching}))},
             {{"search", {{"tool", "find"}}}}, finder(asked));
  EXPECT_TRUE(asked->empty());
  EXPECT_FALSE(task.visited("web_search"));
}

TEST(PageAgent, S2_04_the_plan_is_kept_when_all_workers_are_gone_between_turns) {
  Turns task({});
  const Json before = task.channel("plan");
  task.turn();  // by another worker, which knows nothing of the first
  EXPECT_EQ(task.channel("plan"), before);
  EXPECT_EQ(task.channel("plan_version"), 1);
}

TEST(PageAgent, S2_05_the_index_is_fixed_within_a_turn) {
  Turns task({});
  task.turns(2);
  std::vector<std::string> setters;
  for (const Json& event : task.events("step_succeeded")) {
    if (event["patch"].contains("turn")) setters.push_back(event["node"].get<std::string>());
  }
  EXPECT_EQ(setters, (std::vector<std::string>{"create_task", "planning", "load_context", "load_context"}));
  EXPECT_EQ(task.index(), 2);
}

TEST(PageAgent, S2_06_the_index_is_the_plans_own_or_the_full_count_of_actions) {
  const Json settings = {{"velocity_limit", 100}};
  Turns counted({}, {{"plan", plan_of(steps(20))}, {"settings", settings}});
  counted.turns(14);
  EXPECT_EQ(counted.index(), 14);
  EXPECT_EQ(counted.data("step_refinement")["previous_actions"].size(), 10U);
  Json own = plan_of(steps(20));
  own["current_step_index"] = 3;
  Turns given({}, {{"plan", own}, {"settings", settings}});
  EXPECT_EQ(given.index(), 3);
  EXPECT_EQ(given.data("step_refinement")["step"]["description"], "step 3");
}

TEST(PageAgent, S2_07_after_a_new_plan_the_index_counts_from_it) {
  Turns task({says("replanning", checked(false, Json::array(), true))},
             {{"plan", plan_of(steps(20))}, {"settings", {{"velocity_limit", 100}}}});
  task.turns(6);
  EXPECT_EQ(task.index(), 6);
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.index(), 0);
  EXPECT_EQ(task.channel("actions").size(), 7U);
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.index(), 1);
}

TEST(PageAgent, S2_08_beyond_the_last_step_an_action_is_generated) {
  Turns task({says("planning", plan_of(steps(1)))});
  task.turn();
  EXPECT_EQ(task.calls("step_refinement"), 1) << "only for the step there is";
  EXPECT_EQ(task.labels("step_refinement"), (std::vector<std::string>{"refined", "fallback"}));
  EXPECT_EQ(task.calls("action_generation"), 1);
}

// --- acting ----------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_09_a_step_becomes_an_action_on_a_numbered_element) {
  Turns task({says("step_refinement", refines("setValue(3, \"Jas\")"))});
  const std::vector<Json> proposed = task.events("decision_proposed");
  EXPECT_EQ(proposed.back()["action"], "setValue(3, \"Jas\")");
  EXPECT_EQ(proposed.back()["index"], 0);
  EXPECT_EQ(proposed.back()["target"], "1.1");
  const std::vector<Json> asked = task.events("question_asked");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0]["kind"], "client_action");
  EXPECT_EQ(asked[0]["prompt"]["action"], "setValue(3, \"Jas\")");
  EXPECT_EQ(task.planner.path(task.run).back(), "finalize");
}

TEST(PageAgent, S2_10_a_failed_refinement_and_a_server_tool_fall_back) {
  for (const Json& reply :
       {says("step_refinement", refines("", "SERVER")), says("step_refinement", refines("click(1)", "SERVER")),
        says("step_refinement", refines("click(77)")), says("step_refinement", refines("dance(1)")),
        says("step_refinement", "free text")}) {
    Turns task({reply, says("action_generation", acts("click(2)"))});
    EXPECT_EQ(task.labels("step_refinement"), std::vector<std::string>{"fallback"}) << reply;
    EXPECT_EQ(task.channel("pending")["action"], "click(2)") << reply;
  }
  Turns refused({fails("step_refinement")});
  EXPECT_EQ(refused.labels("step_refinement"), std::vector<std::string>{"error"});
  EXPECT_TRUE(refused.visited("action_generation"));
}

TEST(PageAgent, S2_11_without_a_plan_an_action_is_generated) {
  Turns task({fails("planning")});
  EXPECT_FALSE(task.visited("step_refinement"));
  EXPECT_EQ(task.labels("action_generation"), std::vector<std::string>{"generated"});
  EXPECT_TRUE(task.channel("plan").is_null());
}

TEST(PageAgent, S2_12_a_generated_action_is_structured_or_asked_for_again) {
  const Json free_text = {{"node", "action_generation"},
                          {"reply", {{"role", "assistant"}, {"content", "Just click it."}}}};
  Turns task({fails("planning"), free_text, says("action_generation", acts("click(2)"))});
  EXPECT_EQ(task.calls("action_generation"), 2);
  ASSERT_EQ(task.events("step_failed").size(), 2U);  // the planning, and this
  EXPECT_EQ(task.events("step_failed")[1]["error"], "bad_reply");
  EXPECT_TRUE(task.data("action_generation").contains("last_attempt_failed"));
  EXPECT_EQ(task.channel("pending")["action"], "click(2)");
  Turns dances(
      {fails("planning"), says("action_generation", acts("dance(1)")), says("action_generation", acts("click(2)"))});
  EXPECT_EQ(dances.calls("action_generation"), 2) << "a form that fits and an action that is none";
  EXPECT_EQ(dances.channel("pending")["action"], "click(2)");
}

TEST(PageAgent, S2_13_of_many_actions_the_last_ten_and_a_count_are_told) {
  const auto recent_of = [](int count) {
    Json actions = Json::array();
    for (int i = 0; i < count; ++i) actions.push_back(i);
    return page_agent::recent_actions(actions, 0, 10);
  };
  EXPECT_EQ(recent_of(10).summary, "");
  EXPECT_EQ(recent_of(10).actions.size(), 10U);
  EXPECT_EQ(recent_of(11).summary, "1 earlier steps completed.");
  EXPECT_EQ(recent_of(11).actions.front(), 1);
  EXPECT_EQ(recent_of(25).summary, "15 earlier steps completed.");
  Turns task({}, {{"plan", plan_of(steps(20))}, {"settings", {{"velocity_limit", 100}}}});
  task.turns(11);
  EXPECT_TRUE(has(task.prompt("step_refinement"), "\n1 earlier steps completed.\n{")) << task.prompt("step_refinement");
}

// --- verification ----------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_14_an_action_may_succeed_without_completing_the_task) {
  Turns task({says("verification", verdict(true, false)), says("verification", verdict(true, true))});
  task.turn();
  EXPECT_EQ(task.channel("verification")["task_completed"], false);
  EXPECT_EQ(task.status(), "running");
  task.turn();
  EXPECT_EQ(task.status(), "done");
  EXPECT_EQ(task.planner.output(task.run)["outcome"], "achieved");
}

// Each of the nine combinations of true, false and nothing.
template <class See>
void each_verification(See see) {
  for (const Json& succeeded : {Json(true), Json(false), Json()}) {
    for (const Json& completed : {Json(true), Json(false), Json()}) {
      Json said = Json::object();
      if (!succeeded.is_null()) said["action_succeeded"] = succeeded;
      if (!completed.is_null()) said["task_completed"] = completed;
      see(said, succeeded == true && completed == false);
    }
  }
}

StepInput input_with(const Json& verification) {
  StepInput input;
  input.with = Json::object();
  input.data = {{"verification", verification}};
  return input;
}

TEST(PageAgent, S2_15_refinement_begins_with_the_sentence_of_continuation_in_one_case_of_nine) {
  each_verification([](const Json& said, bool is_it) {
    const ModelRequest request = page_agent::request_of(input_with(said), Role::step_refinement, {{"goal", "g"}});
    const std::string prompt = request.messages.back()["content"];
    EXPECT_EQ(prompt.starts_with("Previous action succeeded; the full user goal is not yet achieved. "
                                 "Continue with the next step."),
              is_it)
        << said;
    EXPECT_EQ(has(prompt, "Previous action succeeded"), is_it) << said;
  });
  Turns task({});
  EXPECT_FALSE(has(task.prompt("step_refinement"), "Previous action"));
  task.turn();
  EXPECT_TRUE(task.prompt("step_refinement").starts_with(std::string(page_agent::next_step)));
}

TEST(PageAgent, S2_16_a_plan_made_anew_begins_with_its_own_sentence) {
  each_verification([](const Json& said, bool is_it) {
    const ModelRequest request = page_agent::request_of(input_with(said), Role::planning, {{"goal", "g"}});
    const std::string prompt = request.messages.back()["content"];
    EXPECT_EQ(prompt.starts_with("Previous action succeeded; the full user goal is not yet achieved. "
                                 "Create or adjust the plan for the remaining steps."),
              is_it)
        << said;
  });
  Turns task({says("replanning", checked(false, Json::array(), true))});
  EXPECT_FALSE(has(task.prompt("planning"), "Previous action"));
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.calls("planning"), 2);
  EXPECT_TRUE(task.prompt("planning").starts_with(std::string(page_agent::plan_the_rest)));
}

// --- planning again --------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_17_replanning_is_for_existing_tasks_whose_page_changed) {
  Turns task({});
  EXPECT_FALSE(task.visited("replanning"));
  EXPECT_FALSE(task.visited("detect_change"));
  task.turn(dom_of(5));  // 10 of 11 by weight
  EXPECT_EQ(task.labels("detect_change"), std::vector<std::string>{"quiet"});
  EXPECT_FALSE(task.visited("replanning"));
  EXPECT_EQ(task.channel("replan")["triggered"], false);
}

TEST(PageAgent, S2_18_another_url_triggers) {
  Turns task({});
  task.turn(dom_of(4), "http://a/next");
  ASSERT_EQ(task.events("replan_decided").size(), 1U);
  EXPECT_EQ(task.events("replan_decided")[0]["cause"], "url_change");
}

// Pages of which `common` of `all` equally heavy elements are the same.
std::pair<std::string, std::string> pages_alike(int common, int all) {
  std::string before = "<button id=1>Go</button>";
  for (int i = 2; i < common; ++i) before += "<p>row " + std::to_string(i) + "</p>";
  std::string after = before;
  for (int i = common; i < all; ++i) after += "<p>new " + std::to_string(i) + "</p>";
  return {before, after};
}

TEST(PageAgent, S2_19_a_similarity_below_seven_tenths_triggers) {
  const auto [before, alike] = pages_alike(70, 100);
  EXPECT_DOUBLE_EQ(page_similarity(read_page(before), read_page(alike)), 0.70);
  Turns quiet({}, {{"dom", before}});
  quiet.turn(alike);
  EXPECT_FALSE(quiet.visited("replanning"));
  EXPECT_DOUBLE_EQ(quiet.channel("change")["similarity"].get<double>(), 0.70);
  const auto [other, unlike] = pages_alike(69, 100);
  Turns task({}, {{"dom", other}});
  task.turn(unlike);
  ASSERT_EQ(task.events("replan_decided").size(), 1U);
  EXPECT_EQ(task.events("replan_decided")[0]["cause"], "similarity");
  EXPECT_DOUBLE_EQ(task.events("replan_decided")[0]["similarity"].get<double>(), 0.69);
  Turns lenient({}, {{"dom", other}, {"settings", {{"similarity_min", 0.5}}}});
  lenient.turn(unlike);
  EXPECT_FALSE(lenient.visited("replanning")) << "the threshold is a setting";
}

TEST(PageAgent, S2_19_what_can_be_acted_upon_weighs_twice) {
  const PageElements both = read_page("<button id=1>Go</button><p>text</p>");
  EXPECT_DOUBLE_EQ(page_similarity(both, read_page("<button id=9>Go</button>")), 2.0 / 3);
  EXPECT_DOUBLE_EQ(page_similarity(both, read_page("<p>text</p>")), 1.0 / 3);
}

TEST(PageAgent, S2_20_a_form_that_is_gone_triggers) {
  const std::string form = "<form label=\"New patient\"></form>";
  Turns task({}, {{"dom", dom_of(20, form)}});
  task.turn(dom_of(20));
  ASSERT_EQ(task.events("replan_decided").size(), 1U);
  EXPECT_EQ(task.events("replan_decided")[0]["cause"], "structure");
  EXPECT_GT(task.events("replan_decided")[0]["similarity"].get<double>(), 0.9);
  Turns opened({});
  opened.turn(dom_of(4, form));
  EXPECT_FALSE(opened.visited("replanning")) << "a form that opens is no loss";
}

TEST(PageAgent, S2_21_the_validator_is_asked_about_the_remaining_steps) {
  Turns task({}, {{"models", {{"replanning", "a-fast-model"}}}});
  task.turn(dom_of(4), "http://b/");
  const Json data = task.data("replanning");
  ASSERT_EQ(data["remaining_steps"].size(), 2U);
  EXPECT_EQ(data["remaining_steps"][0]["index"], 1);
  EXPECT_EQ(task.planner.model().of("replanning").back().model, "a-fast-model");
  std::vector<Json> calls;
  for (const Json& call : task.events("model_called")) {
    if (call["node"] == "replanning") calls.push_back(call);
  }
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0]["request"]["model"], "a-fast-model");
  EXPECT_TRUE(calls[0].contains("model"));
}

TEST(PageAgent, S2_22_a_valid_plan_goes_on) {
  Turns task({says("replanning", checked(true))});
  const Json before = task.channel("plan");
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.events("replan_decided")[0]["action"], "continue");
  EXPECT_TRUE(task.events("plan_revised").empty());
  EXPECT_EQ(task.channel("plan"), before);
  EXPECT_EQ(task.index(), 1);
}

TEST(PageAgent, S2_23_small_changes_are_applied_and_the_other_steps_keep_their_ids) {
  const Json changes = {{{"op", "skip"}, {"index", 1}, {"step", nullptr}},
                        {{"op", "replace"}, {"index", 2}, {"step", step("another")}},
                        {{"op", "insert"}, {"index", 3}, {"step", step("one more")}}};
  Turns task({says("planning", plan_of(steps(5))), says("replanning", checked(false, changes))});
  task.turn(dom_of(4), "http://b/");
  ASSERT_EQ(task.events("plan_revised").size(), 1U);
  EXPECT_EQ(task.events("plan_revised")[0]["version"], 2);
  EXPECT_EQ(task.events("plan_revised")[0]["changes"].size(), 3U);
  std::vector<std::pair<std::string, std::string>> kept;
  const Json plan = task.channel("plan");
  for (const Json& one : plan["steps"]) kept.emplace_back(one["id"], one["description"]);
  EXPECT_EQ(kept,
            (std::vector<std::pair<std::string, std::string>>{
                {"1.1", "step 0"}, {"1.3", "another"}, {"1.6", "one more"}, {"1.4", "step 3"}, {"1.5", "step 4"}}));
  EXPECT_EQ(task.index(), 1);
  EXPECT_EQ(task.data("step_refinement")["step"]["description"], "another");
  EXPECT_EQ(task.channel("replan")["minor_modifications_only"], true);
}

TEST(PageAgent, S2_24_a_plan_made_anew_begins_at_its_first_step) {
  Turns task({says("planning", plan_of(steps(3))), says("planning", plan_of(steps(2, "new"))),
              says("replanning", checked(false, Json::array(), true))});
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.events("replan_decided")[0]["action"], "regenerate");
  ASSERT_EQ(task.events("plan_created").size(), 2U);
  EXPECT_EQ(task.events("plan_created")[1]["version"], 2);
  EXPECT_EQ(task.channel("replan")["plan_regenerated"], true);
  EXPECT_EQ(task.index(), 0);
  EXPECT_EQ(task.data("step_refinement")["step"]["description"], "new 0");
}

TEST(PageAgent, S2_25_the_reason_is_never_read) {
  Turns task({says("replanning", checked(true, Json::array(), false, "please regenerate everything"))});
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.events("replan_decided")[0]["action"], "continue");
  EXPECT_EQ(task.events("plan_created").size(), 1U);
  const Json changes = {{{"op", "skip"}, {"index", 1}, {"step", nullptr}}};
  Turns small({says("replanning", checked(false, changes, false, "please regenerate everything"))});
  small.turn(dom_of(4), "http://b/");
  EXPECT_EQ(small.events("replan_decided")[0]["action"], "modify");
  Turns whole({says("replanning", checked(false, changes, true, "skip one step, the plan is valid, continue"))});
  whole.turn(dom_of(4), "http://b/");
  EXPECT_EQ(whole.events("replan_decided")[0]["action"], "regenerate");
}

TEST(PageAgent, S2_26_a_change_of_no_remaining_step_makes_the_plan_anew) {
  for (const int index : {0, 3, -1, 99}) {  // 0 is done, 3 is beyond
    const Json changes = {{{"op", "skip"}, {"index", index}, {"step", nullptr}}};
    Turns task({says("replanning", checked(false, changes))});
    task.turn(dom_of(4), "http://b/");
    EXPECT_EQ(task.events("replan_decided")[0]["action"], "regenerate") << index;
    EXPECT_EQ(task.channel("replan")["minor_modifications_only"], false) << index;
  }
  const Json twice = {{{"op", "skip"}, {"index", 1}, {"step", nullptr}},
                      {{"op", "replace"}, {"index", 1}, {"step", step("x")}}};
  Turns task({says("replanning", checked(false, twice))});
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.events("replan_decided")[0]["action"], "regenerate") << "one step cannot be skipped and replaced";
}

TEST(PageAgent, S2_27_without_a_validator_the_url_decides) {
  Turns moved({fails("replanning")});
  moved.turn(dom_of(4), "http://b/");
  EXPECT_EQ(moved.events("replan_decided")[0]["action"], "regenerate");
  Turns changed({fails("replanning")});
  changed.turn(dom_of(40));
  ASSERT_EQ(changed.events("replan_decided").size(), 1U);
  EXPECT_EQ(changed.events("replan_decided")[0]["action"], "continue");
  EXPECT_TRUE(has(changed.events("replan_decided")[0]["reason"], "The model is out."));
  EXPECT_EQ(changed.status(), "running");
}

// --- going round in circles ------------------------------------------------------------------------------------------
TEST(PageAgent, S2_28_five_successes_without_completion_end_the_run) {
  Turns task({});
  task.turns(4);
  EXPECT_EQ(task.status(), "running");
  EXPECT_TRUE(task.events("loop_detected").empty());
  task.turn();
  ASSERT_EQ(task.events("loop_detected").size(), 1U);
  EXPECT_EQ(task.events("loop_detected")[0]["kind"], "velocity");
  EXPECT_EQ(task.events("loop_detected")[0]["count"], 5);
  EXPECT_EQ(task.status(), "failed");
  EXPECT_TRUE(has(task.planner.output(task.run)["answer"], "5 actions in a row"));
}

TEST(PageAgent, S2_29_the_count_outlives_workers_and_a_failure_resets_it) {
  Turns task({says("verification", verdict(true, false)), says("verification", verdict(true, false)),
              says("verification", verdict(false, false))});
  task.turns(2);
  EXPECT_EQ(task.channel("successes_without_completion"), 2);
  task.turn();
  EXPECT_EQ(task.channel("successes_without_completion"), 0);
  task.turns(4);  // each by a new worker
  EXPECT_TRUE(task.events("loop_detected").empty());
  task.turn();
  EXPECT_EQ(task.events("loop_detected").size(), 1U);
}

// --- when an action failed -------------------------------------------------------------------------------------------
const std::string popup = "<dialog><p>Welcome</p><button id=7>Close</button></dialog>";

TEST(PageAgent, S2_30_the_plans_contingencies_come_before_the_model) {
  Turns task({says("planning", plan_of(steps(3), {contingency("POPUP_DETECTED", "", "click(\"Close\")")})),
              says("verification", verdict(false, false))});
  task.turn(dom_of(4, popup));
  EXPECT_EQ(task.channel("pending")["action"], "click(7)");
  EXPECT_EQ(task.calls("correction"), 0);
  task.turn();
  EXPECT_EQ(task.index(), 0) << "closing the popup did not do the step";
  Turns simplified({says("planning", plan_of(steps(3), {contingency("POPUP_DETECTED", "", "click(\"Close\")", false)})),
                    says("verification", verdict(false, false))});
  simplified.turn(dom_of(4, popup));
  EXPECT_EQ(simplified.calls("correction"), 1);
  EXPECT_EQ(simplified.data("correction")["suggestion"], "click(7)");
}

TEST(PageAgent, S2_31_five_kinds_of_contingencies_and_the_first_in_the_plan_counts) {
  const std::map<std::string, std::string> doms = {
      {"POPUP_DETECTED", dom_of(4, popup)},
      {"ELEMENT_MISSING", "<button id=2>Other</button>" + dom_of(4).substr(24)},
      {"ERROR_DISPLAYED", dom_of(4, "<p role=\"alert\">That went wrong</p>")},
      {"FORM_VALIDATION", dom_of(4, "<input id=8 name=\"born\" aria-invalid=\"true\">")},
      {"URL_CHANGED", dom_of(4)}};
  for (const auto& [type, dom] : doms) {
    const std::string match = type == "ELEMENT_MISSING" ? "Go" : type == "ERROR_DISPLAYED" ? "went WRONG" : "";
    const Json own = contingency(type, match, "click(\"Other\")");
    Turns task({says("planning", plan_of(steps(3), {own})), says("verification", verdict(false, false))});
    task.turn(dom, type == "URL_CHANGED" ? "http://b/" : home);
    ASSERT_EQ(task.events("contingency_matched").size(), 1U) << type;
    EXPECT_EQ(task.events("contingency_matched")[0]["condition"], type);
    Turns calm({says("planning", plan_of(steps(3), {own})), says("verification", verdict(false, false))});
    calm.turn();
    EXPECT_TRUE(calm.events("contingency_matched").empty()) << type;
  }
  Turns both({says("planning", plan_of(steps(3), {contingency("URL_CHANGED", "", "click(2)"),
                                                  contingency("POPUP_DETECTED", "", "click(7)")})),
              says("verification", verdict(false, false))});
  both.turn(dom_of(4, popup), "http://b/");
  ASSERT_EQ(both.events("contingency_matched").size(), 1U);
  EXPECT_EQ(both.events("contingency_matched")[0]["condition"], "URL_CHANGED");
}

TEST(PageAgent, S2_32_without_a_match_the_model_corrects_and_the_step_is_not_passed) {
  Turns task({says("planning", plan_of(steps(3), {contingency("POPUP_DETECTED", "", "click(\"Close\")")})),
              says("verification", verdict(false, false))});
  task.turn();
  EXPECT_EQ(task.labels("check_contingencies"), std::vector<std::string>{"none"});
  EXPECT_EQ(task.calls("correction"), 1);
  EXPECT_EQ(task.data("correction")["failed_action"], "click(1)");
  EXPECT_EQ(task.channel("pending")["action"], "click(2)");
  task.turn();
  EXPECT_EQ(task.index(), 1) << "two actions, one step";
  EXPECT_EQ(task.channel("actions").size(), 2U);
}

TEST(PageAgent, an_action_that_the_client_could_not_perform_has_failed_without_a_model) {
  Turns task({});
  task.turn(dom_of(4), home,
            {{"performed", false}, {"fault", {{"kind", "element_missing"}, {"says", "No such element."}}}});
  EXPECT_EQ(task.calls("verification"), 0);
  EXPECT_EQ(task.calls("correction"), 1);
  EXPECT_TRUE(task.channel("actions").is_null());
  EXPECT_EQ(task.index(), 0);
}

// --- sub-tasks -------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_33_a_large_plan_or_one_of_phases_is_divided) {
  Turns small({says("planning", plan_of(steps(5)))});
  EXPECT_FALSE(small.visited("decompose_plan"));
  Turns large({says("planning", plan_of(steps(6)))});
  ASSERT_EQ(large.events("task_decomposed").size(), 1U);
  EXPECT_EQ(large.events("task_decomposed")[0]["children"].size(), 2U);
  Turns phases({says("planning", plan_of({step("a", "one"), step("b", "two")}))});
  EXPECT_EQ(phases.events("task_decomposed").size(), 1U);
}

TEST(PageAgent, S2_34_what_a_sub_task_brought_goes_to_the_next) {
  Turns task({says("planning", plan_of(steps(6))),
              says("verification", sub_verdict(true, true, 0.9, {{"patient_id", "P7"}}))});
  EXPECT_EQ(task.data("step_refinement")["sub_task"]["name"], "task 0");
  task.turn();
  const Json sub_task = task.data("step_refinement")["sub_task"];
  EXPECT_EQ(sub_task["name"], "task 1");
  EXPECT_EQ(sub_task["inputs"]["patient_id"], "P7");
}

TEST(PageAgent, S2_35_verification_is_told_the_sub_tasks_objective) {
  Turns task({says("planning", plan_of(steps(6)))});
  task.turn();
  EXPECT_EQ(task.data("verification")["sub_task_objective"], "objective 0");
  Turns flat({});
  flat.turn();
  EXPECT_FALSE(flat.data("verification").contains("sub_task_objective"));
}

TEST(PageAgent, S2_36_a_confidence_of_seven_tenths_advances) {
  Turns sure({says("planning", plan_of(steps(6))), says("verification", sub_verdict(true, true, 0.70))});
  sure.turn();
  EXPECT_EQ(sure.channel("hierarchy")["current"], 1);
  Turns unsure({says("planning", plan_of(steps(6))), says("verification", sub_verdict(true, true, 0.69))});
  unsure.turn();
  EXPECT_EQ(unsure.channel("hierarchy")["current"], 0);
}

TEST(PageAgent, S2_37_a_failed_sub_task_is_planned_anew_once) {
  Turns task({says("planning", plan_of(steps(6))), says("planning", plan_of(steps(6))),
              says("verification", sub_verdict(false, false, 0.9)),
              says("verification", sub_verdict(false, false, 0.9))});
  task.turn();
  EXPECT_EQ(task.labels("check_contingencies"), std::vector<std::string>{"replan"});
  const Json failed = task.events("verification_recorded").back();
  EXPECT_EQ(failed["target"], "1.t1");
  EXPECT_EQ(failed["ok"], false);
  EXPECT_EQ(task.events("plan_created").size(), 2U);
  EXPECT_EQ(task.status(), "running");
  task.turn();
  EXPECT_EQ(task.status(), "failed");
  EXPECT_TRUE(has(task.planner.state(task.run).reason, "sub-task failed again"));
}

TEST(PageAgent, S2_38_all_sub_tasks_complete_achieve_the_goal) {
  Turns task({says("planning", plan_of(steps(6))), says("verification", sub_verdict(true, true, 0.9)),
              says("verification", sub_verdict(true, true, 0.9))});
  task.turn();
  EXPECT_EQ(task.status(), "running");
  task.turn();
  EXPECT_EQ(task.status(), "done");
  EXPECT_EQ(task.events("decision_enforced").back()["action"], "goal_achieved");
}

TEST(PageAgent, S2_39_a_sub_task_does_not_see_the_actions_of_the_one_before) {
  Turns task({says("planning", plan_of(steps(6))), says("verification", verdict(true, false)),
              says("verification", sub_verdict(true, true, 0.9, {{"patient_id", "P7"}}))});
  task.turn();
  EXPECT_EQ(task.data("step_refinement")["previous_actions"].size(), 1U);
  task.turn();
  EXPECT_EQ(task.data("step_refinement")["previous_actions"].size(), 0U);
  EXPECT_TRUE(has(task.prompt("step_refinement"), "P7"));
}

TEST(PageAgent, S2_40_the_sub_tasks_are_kept_between_workers) {
  Turns task({says("planning", plan_of(steps(6))), says("verification", sub_verdict(true, true, 0.9))});
  task.turn();
  const Json before = task.channel("hierarchy");
  EXPECT_EQ(before["current"], 1);
  task.turn();  // by another worker
  EXPECT_EQ(task.channel("hierarchy"), before);
  EXPECT_EQ(task.calls("decompose_plan"), 1);
}

// --- around it -------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_41_without_a_verification_there_is_no_sentence_and_no_error) {
  Turns task({says("verification", verdict(true, false)), fails("verification")});
  task.turn();
  EXPECT_TRUE(has(task.prompt("step_refinement"), "Previous action succeeded"));
  task.turn();
  EXPECT_FALSE(has(task.prompt("step_refinement"), "Previous action succeeded"));
  EXPECT_EQ(task.status(), "running");
}

// The run is the task, its tags name the session, and each node's event the process.
TEST(PageAgent, S2_42_every_node_is_on_record_with_process_session_and_task) {
  PlannerRun planner(make_scripted_model(script_of({})));
  StartRun start;
  start.graph = "page_agent";
  start.input = {{"goal", "g"}, {"client", true}, {"url", home}, {"dom", dom_of(2)}};
  start.tags = {{"session", "s-7"}};
  const Result<Started> started = planner.client().start(start, "");
  ASSERT_TRUE(started);
  planner.work(started->run);
  const Json answer = {{"dom", dom_of(2)}, {"url", home}, {"session", "s-7"}};
  ASSERT_TRUE(planner.client().command(started->run, Answer{"", answer, "", {}}));
  planner.work(started->run);
  EXPECT_EQ(planner.events(started->run, "run_started").at(0)["tags"]["session"], "s-7");
  const std::vector<Json> steps = planner.events(started->run, "step_succeeded");
  EXPECT_GT(steps.size(), 3U);
  for (const Json& event : steps) {
    EXPECT_EQ(event["run"], to_string(started->run));
    EXPECT_FALSE(event["node"].get<std::string>().empty());
    EXPECT_TRUE(event["node"] == "ask_client" || event["worker"].get<std::int64_t>() > 0) << event;
  }
}

TEST(PageAgent, S2_43_a_large_page_is_stored_once) {
  Turns task({});
  task.turn(dom_of(4, "<p>" + std::string(2'000'000, 'x') + "</p>"));
  std::map<std::string, int> hashes;
  for (const char* type : {"question_answered", "step_succeeded"}) {
    for (const Json& event : task.events(type)) {
      const Json value =
          type == std::string("question_answered") ? event["value"] : event["patch"].value("page", Json());
      const Json before = event.value("patch", Json::object()).value("before", Json());
      for (const Json& part : {value, before}) {
        if (part.is_object() && part.contains("$blob")) ++hashes[part["$blob"].get<std::string>()];
      }
      EXPECT_LT(event.dump().size(), 40'000U) << event["node"];
    }
  }
  ASSERT_EQ(hashes.size(), 1U);
  EXPECT_GE(hashes.begin()->second, 3);
  EXPECT_LT(task.data("step_refinement")["dom"].get<std::string>().size(), 30'000U);
}

TEST(PageAgent, S2_44_a_turn_of_another_tenant_is_refused) {
  PlannerRun planner(make_scripted_model(script_of({})));
  StartRun start;
  start.graph = "page_agent";
  start.input = {{"goal", "g"}, {"client", true}, {"url", home}, {"dom", dom_of(2)}};
  start.tags = {{"tenant", "clinic"}, {"user", "ann"}};
  const Result<Started> started = planner.client().start(start, "");
  ASSERT_TRUE(started);
  planner.work(started->run);
  const auto answer = [&](Json more) {
    Json value = {{"dom", dom_of(2)}, {"url", home}};
    value.update(more);
    return planner.client().command(started->run, Answer{"", value, "", {}});
  };
  for (const Json& who :
       {Json{{"tenant", "other"}, {"user", "ann"}}, Json{{"tenant", "clinic"}, {"user", "ben"}}, Json::object()}) {
    const Status refused = answer(who);
    ASSERT_FALSE(refused) << who;
    EXPECT_EQ(refused.error().code, Code::invalid);
  }
  EXPECT_TRUE(answer({{"tenant", "clinic"}, {"user", "ann"}}));
  Turns other({});  // without a run a new task
  EXPECT_NE(to_string(other.run), to_string(started->run));
}

TEST(PageAgent, S2_45_what_else_a_verification_says_is_kept_and_not_read) {
  Json said = verdict(true, false);
  said["state_drift"] = {{"client_witness", "override"}};
  said["before_dom_hash"] = "abc";
  Turns task({says("verification", said)});
  task.turn();
  EXPECT_EQ(task.channel("verification"), said);
  EXPECT_EQ(task.labels("verification"), std::vector<std::string>{"passed"});
}

TEST(PageAgent, S2_46_the_search_is_the_configured_one_when_knowledge_does_not_suffice) {
  const auto asked = std::make_shared<std::vector<Json>>();
  const Json search = {{"tool", "find"}, {"domains", {"clinic.example"}}};
  Turns low({says("context_analysis", analysis(true, true, 0.69))}, {{"search", search}}, finder(asked));
  ASSERT_EQ(asked->size(), 1U);
  EXPECT_EQ((*asked)[0]["domains"], Json::array({"clinic.example"}));
  ASSERT_EQ(low.events("tool_called").size(), 1U);
  EXPECT_EQ(low.events("tool_called")[0]["tool"], "find");
  Turns sure({says("context_analysis", analysis(true, true, 0.7))}, {{"search", search}}, finder(asked));
  EXPECT_EQ(sure.labels("web_search"), std::vector<std::string>{"grounded"});
  Turns lacking({says("context_analysis", analysis(true, false, 0.9))}, {{"search", search}}, finder(asked));
  EXPECT_EQ(asked->size(), 2U);
  const Json options = {{"web_search_options", Json::object()}, {"reasoning_effort", "high"}};
  Turns grounded({says("context_analysis", analysis(true))}, {{"model_options", {{"planning", options}}}});
  EXPECT_EQ(grounded.labels("web_search"), std::vector<std::string>{"grounded"});
  EXPECT_EQ(grounded.planner.model().of("planning").back().options, options);
}

TEST(PageAgent, S2_47_a_turn_without_its_page_is_refused_and_the_question_stays) {
  Turns task({});
  for (const Json& value :
       {Json{{"url", home}}, Json{{"dom", dom_of(1)}}, Json{{"dom", ""}, {"url", home}}, Json("done")}) {
    const Status refused = task.try_answer(value);
    ASSERT_FALSE(refused) << value;
    EXPECT_EQ(refused.error().code, Code::invalid);
  }
  EXPECT_EQ(task.planner.state(task.run).questions.size(), 1U);
  EXPECT_TRUE(task.events("replan_decided").empty());
  task.turn();
  EXPECT_EQ(task.events("question_answered").size(), 1U);
}

TEST(PageAgent, an_input_without_a_page_fails_in_one_sentence) {
  PlannerRun planner(make_scripted_model(script_of({})));
  const RunId run = planner.run("page_agent", {{"goal", "g"}, {"client", true}, {"url", home}});
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(planner.state(run).reason, "the client's dom is missing")) << planner.state(run).reason;
}

// --- the rule book ---------------------------------------------------------------------------------------------------
TEST(PageAgent, the_rules_read_a_goal) {
  const FormGoal goal =
      read_goal("Add a new patient with name Jas, the date of birth 1990-01-02 and ward \"Children and youth\".");
  EXPECT_EQ(goal.words, (std::vector<std::string>{"add", "a", "new", "patient"}));
  EXPECT_EQ(goal.values, (std::vector<std::pair<std::string, std::string>>{
                             {"name", "Jas"}, {"date of birth", "1990-01-02"}, {"ward", "Children and youth"}}));
}

// The register as a client sees it, which performs what it is told.
class Register {
 public:
  std::string dom() const {
    std::string rows;
    for (const std::string& name : names) rows += "<tr><td>" + name + "</td></tr>";
    const std::string form = "<form label=\"New patient\"><input id=2 name=\"name\" value=\"" + typed +
                             "\"><button id=3>Save</button><button id=4>Cancel</button></form>";
    return "<h1>Patients</h1><button id=1>New patient</button><table>" + rows + "</table>" + (is_open ? form : "");
  }
  void perform(const std::string& text) {
    const Result<PageAction> action = parse_action(text);
    ASSERT_TRUE(action) << text;
    if (action->number == 1) is_open = true;
    if (action->number == 2) typed = action->value;
    if (action->number == 3 && !typed.empty()) {
      names.push_back(typed);
      is_open = false;
    }
  }
  std::vector<std::string> names = {"Ada"};
  std::string typed;
  bool is_open = false;
};

TEST(PageAgent, the_rules_add_a_patient_for_a_client_that_brings_its_page) {
  Register page;
  Turns task(Json{{"dom", page.dom()}}, make_rule_model("rules", answer_page_by_rules));
  for (int turn = 0; turn < 10 && task.status() == "running"; ++turn) {
    page.perform(task.channel("prompt")["action"]);
    task.turn(page.dom());
  }
  EXPECT_EQ(task.status(), "done");
  EXPECT_EQ(page.names, (std::vector<std::string>{"Ada", "Jas"}));
  EXPECT_EQ(task.channel("actions").size(), 3U);
  EXPECT_TRUE(has(task.planner.output(task.run)["answer"], "rule book"));
  for (const Json& call : task.events("model_called")) EXPECT_EQ(call["model"], "rules");
}

TEST(PageAgent, the_rules_divide_a_long_form) {
  std::map<int, std::string> typed;
  bool is_open = false;
  const auto dom = [&] {
    std::string text = "<button id=1>New patient</button>";
    if (!is_open) return typed.empty() ? text : text + "<p>a1 b2 c3 d4 e5</p>";
    text += "<form>";
    for (int i = 0; i < 5; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      text += "<input id=" + std::to_string(i + 2) + " name=" + name + " value=\"" + typed[i] + "\">";
    }
    return text + "<button id=9>Save</button></form>";
  };
  Turns task(Json{{"goal", "Add a new patient with a a1, b b2, c c3, d d4 and e e5"}, {"dom", dom()}},
             make_rule_model("rules", answer_page_by_rules));
  for (int turn = 0; turn < 12 && task.status() == "running"; ++turn) {
    const Result<PageAction> action = parse_action(task.channel("prompt")["action"].get<std::string>());
    if (action->kind == PageAction::Kind::set_value) typed[static_cast<int>(action->number) - 2] = action->value;
    if (action->kind == PageAction::Kind::click) is_open = action->number == 1;
    task.turn(dom());
  }
  EXPECT_EQ(task.status(), "done") << task.planner.state(task.run).reason;
  EXPECT_EQ(task.events("task_decomposed")[0]["children"].size(), 3U);
  EXPECT_EQ(task.channel("actions").size(), 7U);
}

// --- over HTTP -------------------------------------------------------------------------------------------------------
using testing::LoopbackServer;

LoopbackServer::Reply completion(const std::string& content) {
  const Json body = {
      {"model", "served"},
      {"choices",
       {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", content}}}, {"finish_reason", "stop"}}}}};
  return {200, body.dump(), false};
}

// The rule book behind an endpoint, which first answers each kind of question as `broken` says.
class Endpoint {
 public:
  explicit Endpoint(std::vector<LoopbackServer::Reply> broken, bool is_slow = false)
      : broken_(std::move(broken)),
        timeout_ms_(is_slow ? 1'000 : 20'000),
        is_slow_(is_slow),
        server_([this](const LoopbackServer::Request& request) { return answer(request); }) {}

  std::unique_ptr<Model> model() const {
    ModelEndpoint endpoint;
    endpoint.url = server_.url("/v1");
    endpoint.model = "served";
    endpoint.timeout_ms = timeout_ms_;
    return make_http_model(endpoint);
  }

 private:
  LoopbackServer::Reply answer(const LoopbackServer::Request& request) {
    const Json body = Json::parse(request.body());
    ModelRequest asked;
    asked.schema_name = body["response_format"]["json_schema"]["name"].get<std::string>();
    asked.messages = body["messages"];
    if (std::exchange(is_slow_, false)) std::this_thread::sleep_for(std::chrono::milliseconds(1'500));
    const int before = asked_[asked.schema_name]++;
    if (static_cast<std::size_t>(before) < broken_.size()) return broken_[static_cast<std::size_t>(before)];
    return completion(canonical(answer_page_by_rules(asked).reply.value));
  }

  std::vector<LoopbackServer::Reply> broken_;
  std::int64_t timeout_ms_;
  bool is_slow_;
  std::map<std::string, int> asked_;
  LoopbackServer server_;
};

void expect_done(const Endpoint& endpoint) {
  Register page;
  Turns task(Json{{"dom", page.dom()}}, endpoint.model());
  for (int turn = 0; turn < 10 && task.status() == "running"; ++turn) {
    page.perform(task.channel("prompt")["action"]);
    task.turn(page.dom());
  }
  EXPECT_EQ(task.status(), "done") << task.planner.state(task.run).reason;
  EXPECT_EQ(page.names, (std::vector<std::string>{"Ada", "Jas"}));
}

TEST(PageAgent, over_http_a_sound_endpoint_does_the_job) { expect_done(Endpoint({})); }
TEST(PageAgent, over_http_a_slow_endpoint_is_asked_again) { expect_done(Endpoint({}, true)); }
TEST(PageAgent, over_http_a_rate_limited_endpoint_is_asked_again) { expect_done(Endpoint({{429, "slow", false}})); }
TEST(PageAgent, over_http_a_malformed_reply_is_survived) { expect_done(Endpoint({completion("Sure! I click.")})); }
TEST(PageAgent, over_http_a_cut_off_reply_is_survived) {
  expect_done(Endpoint({{200, R"({"choices": [{"message": {"rol)", false}}));
}

TEST(PageAgent, over_http_an_endpoint_that_is_down_ends_in_one_sentence) {
  const LoopbackServer server([](const LoopbackServer::Request&) { return LoopbackServer::Reply{503, "down", false}; });
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  Turns task(Json::object(), make_http_model(endpoint));
  EXPECT_EQ(task.status(), "failed");
  EXPECT_TRUE(has(task.planner.state(task.run).reason, "Step action_generation failed"))
      << task.planner.state(task.run).reason;
}

}  // namespace
}  // namespace cairn
