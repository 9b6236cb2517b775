// The page agent after an action: verification, planning again, contingencies and corrections, sub-tasks.
#include "tests/workers/planners/page_agent/page_agent_turns.hpp"

namespace cairn::test::paging {
namespace {

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

TEST(PageAgent, S2_23_a_step_inserted_where_one_was_skipped_stands_in_its_place) {
  const Json changes = {{{"op", "skip"}, {"index", 1}, {"step", nullptr}},
                        {{"op", "insert"}, {"index", 1}, {"step", step("new")}}};
  Turns task({says("planning", plan_of(steps(5))), says("replanning", checked(false, changes))});
  task.turn(dom_of(4), "http://b/");
  std::vector<std::pair<std::string, std::string>> kept;
  const Json plan = task.channel("plan");
  for (const Json& one : plan["steps"]) kept.emplace_back(one["id"], one["description"]);
  EXPECT_EQ(kept, (std::vector<std::pair<std::string, std::string>>{
                      {"1.1", "step 0"}, {"1.6", "new"}, {"1.3", "step 2"}, {"1.4", "step 3"}, {"1.5", "step 4"}}));
  ASSERT_EQ(task.events("plan_revised").size(), 1U);
  EXPECT_EQ(task.events("plan_revised")[0]["changes"][1]["after"], Json::array({"1.1"}));
}

// The indexes are those of the plan as it was shown, whatever was skipped or inserted first.
TEST(PageAgent, S2_23_inserted_steps_stand_in_the_order_of_their_indexes) {
  const auto insert = [](int index, const std::string& what) {
    return Json{{"op", "insert"}, {"index", index}, {"step", step(what)}};
  };
  const Json skip = {{"op", "skip"}, {"index", 1}, {"step", nullptr}};
  const std::vector<std::pair<Json, std::vector<std::string>>> cases = {
      {{insert(2, "before 2"), skip, insert(1, "for 1")}, {"step 0", "for 1", "before 2", "step 2", "step 3"}},
      {{skip, insert(2, "before 2"), insert(1, "for 1")}, {"step 0", "for 1", "before 2", "step 2", "step 3"}},
      {{insert(1, "first"), insert(1, "second"), skip}, {"step 0", "first", "second", "step 2", "step 3"}},
      {{insert(4, "last"), insert(2, "before 2")}, {"step 0", "step 1", "before 2", "step 2", "step 3", "last"}}};
  for (const auto& [changes, expected] : cases) {
    Turns task({says("planning", plan_of(steps(4))), says("replanning", checked(false, changes))});
    task.turn(dom_of(4), "http://b/");
    std::vector<std::string> kept;
    const Json plan = task.channel("plan");
    for (const Json& one : plan["steps"]) kept.push_back(one["description"]);
    EXPECT_EQ(kept, expected) << changes;
  }
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

TEST(PageAgent, S2_28_pages_that_change_are_progress_and_pages_that_come_back_are_not) {
  Turns task({}, {{"plan", plan_of(steps(20))}});
  for (int rows = 5; rows < 13; ++rows) task.turn(dom_of(rows));
  EXPECT_EQ(task.status(), "running") << "eight actions, each with a new page";
  EXPECT_EQ(task.channel("successes_without_completion"), 0);
  for (int turn = 0; turn < 4; ++turn) task.turn(dom_of(turn % 2 == 0 ? 11 : 12));
  EXPECT_EQ(task.status(), "running");
  task.turn(dom_of(11));
  ASSERT_EQ(task.events("loop_detected").size(), 1U) << "to and fro between two pages";
  EXPECT_EQ(task.events("loop_detected")[0]["count"], 5);
}

TEST(PageAgent, a_client_gets_the_verbs_that_it_names_and_no_others) {
  Turns plain({says("step_refinement", refines("press(\"Enter\")")), says("action_generation", acts("click(1)"))});
  EXPECT_EQ(plain.channel("pending")["action"], "click(1)");
  EXPECT_FALSE(has(plain.planner.model().of("step_refinement").back().messages[0]["content"], "press("));
  Turns able({says("step_refinement", refines("press(\"Enter\")"))}, {{"client_actions", {"click", "press"}}});
  EXPECT_EQ(able.channel("pending")["action"], "press(\"Enter\")");
  EXPECT_TRUE(has(able.planner.model().of("step_refinement").back().messages[0]["content"], "press("));
}

TEST(PageAgent, a_long_page_is_cut_to_what_matters_to_the_step) {
  std::string dom = dom_of(2'000) + "<p>The invoice number is 4711</p><button id=77>Pay the invoice</button>";
  Turns task({says("planning", plan_of(Json::array({step("Pay the invoice")}))),
              says("step_refinement", refines("click(\"Pay the invoice\")"))},
             {{"dom", dom}, {"goal", "Pay my invoice"}});
  const std::string shown = task.data("step_refinement")["dom"];
  EXPECT_LE(shown.size(), page_agent::dom_bytes_max + 200);
  EXPECT_TRUE(has(shown, "Pay the invoice")) << shown.substr(0, 500);
  EXPECT_TRUE(has(shown, "4711"));
  EXPECT_EQ(task.channel("pending")["action"], "click(77)");
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

// The text has to stand in the popup, in the alert, or in what the field stands in.
TEST(PageAgent, S2_31_text_that_stands_elsewhere_on_the_page_does_not_count) {
  const std::string elsewhere = "<footer><a id=9>Cookies</a><p>Required reading</p></footer>";
  struct Place {
    std::string type;
    std::string match;
    std::string there;
    std::string not_there;
  };
  const std::vector<Place> places = {
      {"POPUP_DETECTED", "cookies", "<dialog><div><p>We use cookies</p></div></dialog>",
       "<dialog><p>Welcome</p></dialog>" + elsewhere},
      {"ERROR_DISPLAYED", "required", "<div role=\"alert\">Wrong<p>A name is required</p></div>",
       "<div role=\"alert\">Saved</div>" + elsewhere},
      {"FORM_VALIDATION", "required",
       "<form><div><input id=8 name=\"born\" aria-invalid=\"true\"><span>Required</span></div></form>" + elsewhere,
       "<form><div><input id=8 name=\"born\" aria-invalid=\"true\"><span>Too late</span></div></form>" + elsewhere}};
  for (const Place& place : places) {
    for (const bool is_there : {true, false}) {
      Turns task({says("planning", plan_of(steps(3), {contingency(place.type, place.match, "click(\"Other\")")})),
                  says("verification", verdict(false, false))});
      task.turn(dom_of(4, is_there ? place.there : place.not_there));
      EXPECT_EQ(task.events("contingency_matched").size(), is_there ? 1U : 0U) << place.type;
    }
  }
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

}  // namespace
}  // namespace cairn::test::paging
