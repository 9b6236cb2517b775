// A plan carried out by people, processes and rules: a person's edit before it runs, a cancel, a new session after
// every event, and the rule book in a model's place.
#include <limits>

#include "tests/workers/planners/plan_and_do/plan_and_do_trial.hpp"

namespace cairn::test::doing {
namespace {

// --- a person edits the tree
// -------------------------------------------------------------------------------------------
Lines two_tasks() { return {{{"1", {{child("a"), child("b", {"1.1"})}}}}, {}}; }

Json edited_plan(const Json& prompt, const std::function<void(Json&)>& edit) {
  Json plan = prompt["plan"];
  edit(plan);
  return {{"plan", std::move(plan)}};
}

TEST(PlanAndDo, nothing_runs_before_a_person_has_seen_the_tree) {
  PlannerRun planner(saying(two_tasks()), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"review", true}}));
  EXPECT_EQ(planner.state(run).status, RunStatus::running);
  EXPECT_EQ(planner.state(run).questions.begin()->second.kind, "review");
  EXPECT_EQ(open_prompt(planner, run)["plan"]["nodes"].size(), 3U);
  EXPECT_TRUE(planner.events(run, "sub_goal_opened").empty());
  answer(planner, run, "run");
  EXPECT_EQ(planner.output(run)["outcome"], "done");
  for (const Json& revised : planner.events(run, "plan_revised")) EXPECT_NE(revised["cause"], "review");
}

TEST(PlanAndDo, a_person_may_stop_it_before_it_runs) {
  PlannerRun planner(saying(two_tasks()), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"review", true}}));
  answer(planner, run, "stop");
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_TRUE(planner.events(run, "sub_goal_opened").empty());
}

TEST(PlanAndDo, an_edited_tree_is_on_record_and_is_what_runs) {
  PlannerRun planner(saying(two_tasks()), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"review", true}}));
  answer(planner, run, edited_plan(open_prompt(planner, run), [](Json& plan) {
           plan["nodes"]["1.1"]["instruction"] = "Do it with care.";
           plan["nodes"]["1.1"]["context"] = {{"meta", {{"estimate", "2h"}}}};
           plan["nodes"].erase("1.2");
           plan["nodes"]["new"] = {{"name", "n"}, {"parent_id", "1"}, {"position", 5}, {"dependencies", {"1.1"}}};
           plan["nodes"]["part"] = {{"name", "p"}, {"parent_id", "new"}, {"leaf", true}};
         }));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(ids_of(planner.events(run, "sub_goal_opened"), "sub_goal"), (Names{"1.1!1", "part!1"}));
  const Json revised = planner.events(run, "plan_revised").front();
  EXPECT_EQ(revised["cause"], "review");
  EXPECT_EQ(revised["changes"], Json::parse(R"([
      {"op": "remove", "id": "1.2"},
      {"op": "update", "id": "1.1", "title": "a", "parent": "1", "after": [],
       "context": {"instruction": "Do it with care.", "leaf": true, "context": {"meta": {"estimate": "2h"}}}},
      {"op": "add", "id": "new", "title": "n", "parent": "1", "after": ["1.1"], "context": {"instruction": ""}},
      {"op": "add", "id": "part", "title": "p", "parent": "new", "after": [],
       "context": {"instruction": "", "leaf": true}}])"));
  const Json asked = asked_about(planner, binding_schema, "1.1")["task"];
  EXPECT_EQ(asked["instruction"], "Do it with care.");
  EXPECT_EQ(asked["context"]["meta"]["estimate"], "2h");
}

TEST(PlanAndDo, a_task_may_be_moved_below_a_new_one) {
  PlannerRun planner(saying(two_tasks()), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"review", true}}));
  answer(planner, run, edited_plan(open_prompt(planner, run), [](Json& plan) {
           plan["nodes"]["new"] = {{"name", "n"}, {"parent_id", "1"}};
           plan["nodes"]["1.2"]["parent_id"] = "new";
         }));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(planner.output(run)["plan"]["nodes"]["1.2"]["parent_id"], "new");
  EXPECT_EQ(statuses(planner.state(run)), (Names{"1 succeeded", "1.1 succeeded", "1.2 succeeded", "new succeeded"}));
}

TEST(PlanAndDo, a_tree_that_cannot_be_is_refused_with_a_sentence_and_asked_about_again) {
  PlannerRun planner(saying(two_tasks()), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"review", true}}));
  const std::vector<std::pair<std::function<void(Json&)>, std::string>> cases = {
      {[](Json& plan) { plan["nodes"]["1.1"]["dependencies"] = {"1.2"}; },
       "Expected the dependencies of the plan to be in an order, but they run in a circle."},
      {[](Json& plan) { plan["nodes"]["1.1"]["priority"] = 1; },
       "Expected task 1.1 of the plan to have no field priority, but it has."},
      {[](Json& plan) { plan["nodes"].erase("1"); },
       "Expected the parent of task 1.1 to be a task of the plan, but there is no task 1."},
      {[](Json& plan) { plan["version"] = 7; }, "Expected an edit of version 1 of the plan, but it is of version 7."},
      {[](Json& plan) { plan["goal"] = "Another"; },
       "Expected the goal and the plan_id to stay as they are, but one of them is another."},
      {[](Json& plan) {
         plan["nodes"] = Json::object();
         plan["roots"] = Json::array();
       },
       "Expected the plan to keep a task, but it has none."}};
  for (const auto& [edit, says] : cases) {
    answer(planner, run, edited_plan(open_prompt(planner, run), edit));
    EXPECT_EQ(open_prompt(planner, run).value("fault", ""), says);
    EXPECT_TRUE(planner.events(run, "plan_revised").empty());
  }
  answer(planner, run, "run");
  EXPECT_EQ(planner.output(run)["outcome"], "done");
}

TEST(PlanAndDo, without_people_the_tree_runs_as_it_is) {
  PlannerRun planner(saying(two_tasks()), usual_tools());
  Options alone;
  alone.autonomous = true;
  const RunId run = planner.start("plan_and_do", goal({{"review", true}}), {}, alone);
  planner.work(run);
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
}

TEST(PlanAndDo, without_people_a_task_that_no_tool_fits_is_given_up) {
  Lines lines = two_tasks();
  lines.bindings["1.2"] = {no_tool};
  PlannerRun planner(saying(lines), usual_tools());
  Options alone;
  alone.autonomous = true;
  const RunId run = planner.start("plan_and_do", goal({{"no_tool", "ask"}}), {}, alone);
  planner.work(run);
  EXPECT_EQ(planner.output(run)["outcome"], "partial") << planner.state(run).reason;
  EXPECT_EQ(results(planner.output(run))["1.2"], "failed: Nobody answered.");
}

// --- a decomposition that stops early --------------------------------------------------------------------------------
Json parts(const Names& names, bool are_leaves = true) {
  Json children = Json::array();
  for (const std::string& name : names) children.push_back(child(name, {}, are_leaves));
  return children;
}

TEST(PlanAndDo, a_batch_cut_short_by_a_stop_is_not_replayed_when_a_task_is_broken_down_again) {
  Lines lines;
  lines.parts["1"] = {parts({"a", "b", "c", "d", "e", "f"}, false)};
  for (const char* task : {"1.2", "1.3", "1.4", "1.5"}) lines.parts[task] = {parts({"first", "second"})};
  lines.bindings["1.5"] = {use("broken")};
  lines.stops = {"1.1"};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"options", {{"max_depth", 2}}}}));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(ids_of(planner.events(run, "task_decomposed"), "target"), (Names{"1", "1.1", "1.5"}));
  EXPECT_FALSE(asked_about(planner, decomposition_schema, "1.5").is_null());
  Names calls = ids_of(planner.events(run, "sub_goal_opened"), "sub_goal");
  std::sort(calls.begin(), calls.end());
  EXPECT_EQ(calls, (Names{"1.1!1", "1.2!1", "1.3!1", "1.4!1", "1.5!1", "1.5.1!1", "1.5.2!1", "1.6!1"}));
}

TEST(PlanAndDo, a_stop_said_of_one_failed_task_does_not_keep_another_whole) {
  Lines lines;
  lines.parts["1"] = {parts({"a", "b"})};
  for (const char* task : {"1.1", "1.2"}) {
    lines.parts[task] = {parts({"first", "second"})};
    lines.bindings[task] = {use("broken")};
  }
  lines.stops = {"1.1"};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(ids_of(planner.events(run, "task_decomposed"), "target"), (Names{"1", "1.1", "1.2"}));
  EXPECT_EQ(ids_of(planner.output(run)["tasks"].get<std::vector<Json>>(), "id"),
            (Names{"1.1.1", "1.1.2", "1.2.1", "1.2.2"}));
}

// A write that the engine refuses: what it adds to a count does not fit 64 bits any more.
TEST(PlanAndDo, a_refused_write_of_one_failed_task_does_not_keep_another_whole) {
  Lines lines;
  lines.parts["1"] = {parts({"a", "b"})};
  lines.parts["1.1"] = {parts({"first", "second", "one too many"})};
  lines.parts["1.2"] = {parts({"first", "second"})};
  for (const char* task : {"1.1", "1.2"}) lines.bindings[task] = {use("broken")};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run =
      planner.start("plan_and_do", goal({{"options", {{"max_children", 2}, {"on_write_error", "stop"}}}}));
  for (int i = 0; i < 300 && planner.events(run, "task_decomposed").empty(); ++i)
    planner.work_until(run, planner.state(run).seq + 1);
  const Json full = {{"truncated", std::numeric_limits<std::int64_t>::max()}};
  ASSERT_TRUE(planner.client().command(run, EditChannels{full}).ok());
  planner.work(run);
  EXPECT_EQ(ids_of(planner.events(run, "task_decomposed"), "target"), (Names{"1", "1.2"}));
  ASSERT_EQ(planner.events(run, "decomposition_failed").size(), 1U);
  EXPECT_EQ(planner.events(run, "decomposition_failed")[0]["target"], "1.1");
  EXPECT_EQ(planner.output(run)["outcome"], "partial") << planner.state(run).reason;
  EXPECT_EQ(ids_of(planner.output(run)["tasks"].get<std::vector<Json>>(), "id"), (Names{"1.1", "1.2.1", "1.2.2"}));
}

// --- processes -------------------------------------------------------------------------------------------------------
Lines with_a_failure() {
  return {
      {{"1", {{child("look"), child("send"), child("report", {"1.2"})}}}, {"1.2", {{child("mend"), child("again")}}}},
      {{"1.1", {use("read")}}, {"1.2", {use("broken")}}}};
}

TEST(PlanAndDo, a_new_session_after_every_event_comes_to_the_same_and_asks_nothing_twice) {
  PlannerRun at_once(saying(with_a_failure()), usual_tools());
  const RunId whole = at_once.run("plan_and_do", goal());
  PlannerRun pieces(saying(with_a_failure()), usual_tools());
  const RunId run = pieces.start("plan_and_do", goal());
  for (int i = 0; i < 300 && !is_ended(pieces.state(run).status); ++i)
    pieces.work_until(run, pieces.state(run).seq + 1);
  EXPECT_EQ(pieces.output(run), at_once.output(whole));
  EXPECT_EQ(pieces.model().requests.size(), at_once.model().requests.size());
  EXPECT_EQ(pieces.events(run, "tool_called").size(), at_once.events(whole, "tool_called").size());
}

TEST(PlanAndDo, a_cancel_in_the_middle_ends_it_and_no_tool_is_called_any_more) {
  PlannerRun planner(saying(with_a_failure()), usual_tools());
  const RunId run = planner.start("plan_and_do", goal());
  for (int i = 0; i < 300 && planner.events(run, "sub_goal_closed").empty(); ++i)
    planner.work_until(run, planner.state(run).seq + 1);
  const std::size_t called = planner.events(run, "tool_called").size();
  ASSERT_TRUE(planner.client().command(run, Cancel{}).ok());
  planner.work(run);
  EXPECT_EQ(planner.state(run).status, RunStatus::aborted);
  EXPECT_EQ(planner.events(run, "tool_called").size(), called);
}

// --- without a model -------------------------------------------------------------------------------------------------
ToolSpec counter() {
  ToolSpec spec;
  spec.name = "count_letters";
  spec.does = ToolSpec::Instant{[](const ToolCall& call) -> ToolAnswer {
    return Json{{"letters", call.inputs.at("text").get<std::string>().size()}};
  }};
  spec.facts.about = "Counts the letters of a text.";
  spec.facts.needs = {"text"};
  spec.facts.gives = {"letters"};
  return spec;
}

PlannerRun by_rules() {
  return PlannerRun(make_rule_model(rule_book_name, answer_by_rules), builtin_and([] {
                      std::vector<ToolSpec> specs;
                      specs.push_back(counter());
                      return specs;
                    }()));
}

Json outline(const std::vector<std::string>& lines, Json more = Json::object()) {
  Json input = {{"outline", lines}, {"tools", {"echo", "count_letters"}}};
  input.update(more);
  return input;
}

TEST(PlanAndDoRules, an_outline_whose_tasks_name_their_tools_is_done) {
  PlannerRun planner = by_rules();
  const RunId run =
      planner.run("plan_and_do", outline({"# Letters", "1. echo {\"text\": \"abc\"}", "2. count_letters of it",
                                          "3. count_letters text=\"ab\"", "4. echo of it", "   {\"n\": 1}"}));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(results(planner.output(run)),
            (Json{{"1", {{"text", "abc"}}}, {"2", {{"letters", 3}}}, {"3", {{"letters", 2}}}, {"4", {{"n", 1}}}}));
  for (const Json& decided : planner.events(run, "decision_proposed")) EXPECT_EQ(decided["source"], "rule");
}

TEST(PlanAndDoRules, a_tool_is_named_after_an_escaped_quote_and_after_a_quote_or_bracket_that_is_not_closed) {
  for (const std::string text :
       {R"({"say": "a \" b"} with echo)", R"("a \" b" with echo)", R"(5" pipe, use echo)", R"(A { and echo)"}) {
    PlannerRun planner = by_rules();
    const RunId run = planner.run("plan_and_do", outline({"# G", "- " + text}));
    EXPECT_EQ(planner.output(run)["outcome"], "done") << text << ": " << planner.output(run);
    ASSERT_EQ(planner.events(run, "tool_called").size(), 1U) << text;
    EXPECT_EQ(planner.events(run, "tool_called")[0]["tool"], "echo") << text;
  }
}

TEST(PlanAndDoRules, a_task_whose_context_names_its_tool_is_done_by_it) {
  PlannerRun planner = by_rules();
  const Json plan = {{"roots", {"1"}},
                     {"nodes",
                      {{"1",
                        {{"name", "Greet"},
                         {"leaf", true},
                         {"context", {{"meta", {{"tool", "echo"}, {"inputs", {{"hello", "Ann"}}}}}}}}}}}};
  const RunId run = planner.run("plan_and_do", {{"plan", plan}, {"tools", {"echo"}}});
  EXPECT_EQ(results(planner.output(run)), (Json{{"1", {{"hello", "Ann"}}}})) << planner.state(run).reason;
}

TEST(PlanAndDoRules, what_it_cannot_bind_it_says_and_does_not_guess) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Paint the house",
       "Expected the text of task 1 to name one of the tools, but it names none (count_letters, echo)."},
      {"echo or count_letters", "Expected the text of task 1 to name one tool, but it names count_letters and echo."},
      {"count_letters somewhere",
       "Expected task 1 to have text for count_letters, but neither its text nor a task before it has it."},
      {"recount_letters2", "it names none"},
      {"Say \"echo\" to {\"it\": \"count_letters\"}", "it names none"}};
  for (const auto& [task, says] : cases) {
    PlannerRun planner = by_rules();
    const RunId run = planner.run("plan_and_do", outline({"# G", "- " + task, "- echo {}"}));
    EXPECT_EQ(planner.output(run)["outcome"], "partial");
    EXPECT_TRUE(has(results(planner.output(run))["1"], says)) << results(planner.output(run))["1"];
  }
}

TEST(PlanAndDoRules, a_task_that_names_two_tools_is_done_by_its_parts) {
  PlannerRun planner = by_rules();
  const RunId run =
      planner.run("plan_and_do", outline({"# G", "## Both", "1. echo {\"text\": \"abcd\"}", "2. count_letters"},
                                         {{"options", {{"max_depth", 0}}}}));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(results(planner.output(run)), (Json{{"1.1", {{"text", "abcd"}}}, {"1.2", {{"letters", 4}}}}));
}

TEST(PlanAndDoRules, issue_20_5_a_binding_is_given_its_own_task_and_those_before_it_and_no_more_of_the_plan) {
  PlannerRun planner = by_rules();
  const RunId run = planner.run(
      "plan_and_do",
      outline({"# G", "## First", "- echo {\"text\": \"" + std::string(3'000, 'a') + "\"}", "- echo {\"n\": 1}",
               "## Apart", "- echo {\"n\": 2}", "## Then (after First)", "- count_letters of it"}));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(results(planner.output(run))["3.1"], (Json{{"letters", 3'000}}));
  const Json last = planner.channel(run, "to_bind");
  ASSERT_EQ(last.size(), 1U) << last;
  EXPECT_EQ(last[0]["task"]["id"], "3.1");
  EXPECT_EQ(ids_of(last[0]["comes_after"], "id"), (Names{"1.1", "1.2"})) << "what is apart is not copied";
  EXPECT_FALSE(last[0]["comes_after"][0].contains("results")) << "a long one stands once for all";
  EXPECT_EQ(last[0]["comes_after"][1]["results"], (Json{{"n", 1}}));
  EXPECT_EQ(planner.channel(run, "results_at_hand")["1.1"]["outputs"]["text"], std::string(3'000, 'a'));
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  const Handler* bind = catalogue->handlers.find("plan_and_do.bind_task");
  ASSERT_NE(bind, nullptr);
  EXPECT_FALSE(bind->reads_plan);
}

// A run that began with the graph of before goes on with it.
TEST(PlanAndDoRules, issue_20_5_a_graph_whose_bindings_read_the_plan_still_runs) {
  PlannerRun planner = by_rules();
  const std::unique_ptr<Catalogue> catalogue = *make_catalogue({});
  Json graph;
  for (const GraphRef& each : catalogue->graphs)
    if (each->name == "plan_and_do") graph = parse_stored(each->text);
  graph["name"] = "as_before";
  graph["nodes"]["bind"]["map"]["over"] = {{"$", "ready"}, {"default", Json::array()}};
  graph["nodes"]["bind"]["map"]["do"] = "plan_and_do.bind";
  const Result<GraphRef> added = planner.client().add_graph(graph);
  ASSERT_TRUE(added) << added.error().message;
  const RunId run = planner.run("as_before", outline({"# G", "1. echo {\"text\": \"abc\"}", "2. count_letters of it"}));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
}

TEST(PlanAndDoRules, what_is_ticked_in_an_outline_is_not_done_again) {
  PlannerRun planner = by_rules();
  const RunId run = planner.run("plan_and_do", outline({"# G", "- [x] Buy paint", "- [ ] echo {} (after Buy paint)"}));
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(results(planner.output(run)), (Json{{"1", Json::object()}, {"2", Json::object()}}));
  EXPECT_EQ(planner.events(run, "tool_called").size(), 1U);
}

TEST(PlanAndDoRules, other_prompts_are_not_answered) {
  ModelRequest request;
  request.node = "guardrail";
  request.schema_name = "guardrail";
  ASSERT_TRUE(answer_binding_prompt(request).failure);
  EXPECT_EQ(answer_binding_prompt(request).failure->error, "refused");
}

}  // namespace
}  // namespace cairn::test::doing
