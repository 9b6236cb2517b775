#include <ctime>
#include <gtest/gtest.h>

#include "workers/planners/plan_decomposer/outline.hpp"
#include "workers/planners/planners.hpp"

namespace cairn {
namespace {

using Names = std::vector<std::string>;

Names names_in(std::string_view text) {
  Names names;
  for (const OutlineItem& item : split_outline(text)) names.push_back(item.name);
  return names;
}

OutlineItem only(std::string_view text) {
  const std::vector<OutlineItem> items = split_outline(text);
  EXPECT_EQ(items.size(), 1U) << text;
  return items.empty() ? OutlineItem{} : items.front();
}

TEST(PlanOutline, sections_go_by_the_largest_heading) {
  EXPECT_EQ(names_in("intro\n## A\ntext\n### A1\n## B ##\n- x\n"), (Names{"A", "B"}));
  EXPECT_EQ(split_outline("## A\ntext\n### A1\n## B\n")[0].body, "text\n### A1\n");
  EXPECT_EQ(names_in("#no heading\n    # neither\n####### nor this\n"), Names());
}

TEST(PlanOutline, issue_20_5_all_lists_are_taken_where_there_is_no_heading) {
  EXPECT_EQ(names_in("Do this:\n\n* a\n* b\n  * b1\n* c\n\nAnd then:\n- d\n"), (Names{"a", "b", "c", "d"}));
  const std::vector<OutlineItem> phases = split_outline("First:\n1. a\n2. b\n\nLater:\n1. c\n2. d\n");
  ASSERT_EQ(phases.size(), 4U);
  EXPECT_TRUE(phases[1].follows);
  EXPECT_FALSE(phases[2].follows) << "nothing says that the second list comes after the first";
  EXPECT_TRUE(phases[3].follows);
  const std::vector<OutlineItem> noted = split_outline("1. a\n\nA note on it.\n\n2. b\n");
  ASSERT_EQ(noted.size(), 2U);
  EXPECT_TRUE(noted[1].follows) << "its number says that it goes on";
  EXPECT_EQ(split_outline("- a\n- b\n  - b1\n    - b2\n")[1].body, "- b1\n  - b2\n");
  EXPECT_EQ(names_in("-no item\n1.neither\n- \n"), Names());
  EXPECT_EQ(names_in("\t- a\n\t- b\n"), (Names{"a", "b"}));
}

TEST(PlanOutline, issue_20_5_headings_may_be_underlined_and_bullets_of_other_shapes) {
  EXPECT_EQ(names_in("Plan\n====\n\nOne\n---\n- a\n\nTwo\n-----\n- b\n"), (Names{"Plan"}));
  EXPECT_EQ(names_in("One\n---\n- a\n\nTwo\n---\n- b\n"), (Names{"One", "Two"}));
  EXPECT_EQ(names_in("a text\n\n---\n\n- a\n---\n"), (Names{"a"})) << "a rule is no heading";
  EXPECT_EQ(names_in("\u2022 a\n\u2022 b\n  \u25E6 b1\n\u2013 c\n"), (Names{"a", "b", "c"}));
  EXPECT_EQ(names_in("\uFEFF# A\r\n- x\r\n# B\r\n"), (Names{"A", "B"}));
}

TEST(PlanOutline, code_has_no_structure) {
  EXPECT_EQ(names_in("```sh\n# a comment\n- an option\n```\n- real\n"), (Names{"real"}));
  EXPECT_EQ(names_in("- a\n  ```\n- not an item\n  ```\n- b\n"), (Names{"a", "b"}));
  EXPECT_EQ(names_in("~~~\n# never closed\n"), Names());
}

TEST(PlanOutline, numbered_steps_follow_one_another) {
  const std::vector<OutlineItem> steps = split_outline("1. a\n2. b\n- c\n10) d\n");
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_FALSE(steps[0].follows);
  EXPECT_TRUE(steps[1].follows);
  EXPECT_FALSE(steps[2].follows);
  EXPECT_TRUE(steps[3].follows);
}

TEST(PlanOutline, names_lose_their_marks_and_boxes) {
  EXPECT_EQ(only("- [x] **Run** `make` [here](http://x/y(z))").name, "Run make here)");
  EXPECT_TRUE(only("- [X] a").is_done);
  EXPECT_FALSE(only("- [ ] a").is_done);
  EXPECT_EQ(only("- [a] b").name, "[a] b");
  EXPECT_EQ(only("## Steps:").name, "Steps");
}

TEST(PlanOutline, notes_of_order_are_read_in_several_ways) {
  for (const char* text : {"- c (after a, b)", "- c (After: a and b)", "- c (depends on a, b)", "- c （依赖：a、b）",
                           "- c\n  Needs: a, b\n", "- c\n  - Blocked by: a\n  - Requires: b\n"}) {
    const OutlineItem item = only(text);
    EXPECT_EQ(item.name, "c") << text;
    EXPECT_EQ(item.after, (Names{"a", "b"})) << text;
    EXPECT_TRUE(split_outline(item.body).empty()) << text;
  }
  EXPECT_EQ(only("- c (afterwards)").after, Names());
  EXPECT_EQ(only("- c (after)").name, "c (after)");
}

TEST(PlanOutline, a_long_item_is_named_by_its_first_sentence_and_keeps_its_text) {
  const std::string rest(200, 'x');
  const OutlineItem item = only("- Pack the boxes. Then " + rest);
  EXPECT_EQ(item.name, "Pack the boxes");
  EXPECT_EQ(item.body, "Pack the boxes. Then " + rest + "\n\n");
  EXPECT_LE(only("- " + std::string(500, 'y')).name.size(), 123U);
}

TEST(PlanOutline, foreign_line_ends_and_blank_texts_are_taken_as_they_come) {
  EXPECT_EQ(names_in("# A\r\n- b\r\n"), (Names{"A"}));
  for (const char* text : {"", "\n\n", "   ", "-", "#", "# ", "1.", "```", "()", "[", "](", "- (after )"})
    split_outline(text);
}

TEST(PlanOutline, a_single_title_is_the_goal) {
  const Result<OutlinePlan> plan = plan_of_outline("# Move house\nSoon.\n## Pack\n- boxes\n## Drive (after Pack)\n");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->tree.goal, "Move house");
  ASSERT_EQ(plan->tree.size(), 2U);
  EXPECT_EQ(plan->tree.nodes()[0].instruction, "- boxes\n");
  EXPECT_FALSE(plan->tree.nodes()[0].leaf);
  EXPECT_TRUE(plan->tree.nodes()[1].leaf);
  EXPECT_EQ(plan->tree.nodes()[1].dependencies, (Names{"1"}));
}

TEST(PlanOutline, tasks_that_wait_for_one_another_lose_what_closes_the_circle) {
  const Result<OutlinePlan> plan = plan_of_outline("- a (after b)\n- b (after a)\n");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->tree.nodes()[0].dependencies, (Names{"2"}));
  EXPECT_EQ(plan->dropped, (std::vector<DroppedDependency>{{"2", "1", "cyclic_dependency"}}));
}

// Each dependency ordered the whole plan once more: minutes within one turn.
TEST(PlanOutline, a_list_of_as_many_steps_as_a_plan_may_have_is_taken_at_once) {
  std::string text;
  for (std::size_t i = 0; i < plan_tasks_max; ++i) text += "1. a\n";
  const Result<OutlinePlan> plan = plan_of_outline(text);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->tree.size(), plan_tasks_max);
  EXPECT_TRUE(plan->dropped.empty());
  EXPECT_EQ(plan->tree.nodes().back().dependencies, (Names{std::to_string(plan_tasks_max - 1)}));
  const Result<OutlinePlan> one_more = plan_of_outline(text + "1. a\n");
  ASSERT_FALSE(one_more.ok());
  EXPECT_EQ(one_more.error().code, Code::limit);
  EXPECT_EQ(one_more.error().message, "Expected a plan of at most 10000 tasks, but there are 10001.");
  EXPECT_FALSE(plan_of_outline("# Goal\n" + text + "1. a\n").ok()) << "the parts of the only part";
}

TEST(PlanOutline, a_long_circle_loses_the_one_that_closes_it) {
  for (const int step : {1, -1}) {
    constexpr int count = 9'000;
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "- t" + std::to_string(i) + " (after t" + std::to_string((i + step + count) % count) + ")\n";
    const Result<OutlinePlan> plan = plan_of_outline(text);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const std::string last = std::to_string(count);
    EXPECT_EQ(
        plan->dropped,
        (std::vector<DroppedDependency>{{last, step == 1 ? "1" : std::to_string(count - 1), "cyclic_dependency"}}));
    EXPECT_TRUE(plan->tree.is_ordered());
  }
}

TEST(PlanOutline, an_item_may_name_as_many_others_as_an_outline_has_room_for) {
  std::string text = "- z (after A and b";
  for (int i = 0; i < 30'000; ++i) text += "、" + std::to_string(i);
  const Result<OutlinePlan> plan = plan_of_outline(text + ")\n- a\n- B\n");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->tree.nodes()[0].dependencies, (Names{"2", "3"}));
  ASSERT_EQ(plan->dropped.size(), 49U) << "of the first 50, 47 are no tasks, and 1 is the task itself";
  EXPECT_EQ(plan->dropped.front(), (DroppedDependency{"1", "29950 more", "dependencies_max"}));
}

TEST(PlanOutline, what_cannot_be_a_plan_is_refused_with_a_sentence) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json::object(), "Expected a plan, an outline or a goal, but there is none of them."},
      {{{"outline", "Just words."}}, "Expected an outline with headings or a list, but it has neither."},
      {{{"outline", {1}}}, "Expected the outline to be a text or a list of lines, but it is [1]."},
      {{{"outline", std::string(300'000, 'x')}}, "Expected an outline of at most 262144 bytes, but it has 300000."},
      {{{"outline", "- a"}, {"plan", Json::object()}}, "Expected either a plan or an outline, but there are both."},
      {{{"goal", " "}}, "Expected the goal to be a text, but it is \" \"."},
      {{{"plan", 5}}, "Expected the plan to be an object, but it is 5."},
      {{{"plan", {{"roots", Json::array()}}}}, "Expected the plan to have an object of nodes, but it has null."},
      {{{"plan", {{"roots", {"a"}}, {"nodes", Json::object()}}}},
       "Expected the roots to be tasks of the plan, but there is no task a."},
      {{{"plan", {{"roots", {"a", "a"}}, {"nodes", {{"a", {{"name", "A"}}}}}}}},
       "Expected each root once, but a is named twice."},
      {{{"plan", {{"roots", {"a"}}, {"nodes", {{"a", {{"name", " "}}}}}}}},
       "Expected task a of the plan to have a name, but it has none."},
      {{{"plan", {{"roots", {"a"}}, {"steps", 1}, {"nodes", Json::object()}}}},
       "Expected the plan to have no field steps, but it has."},
      {{{"plan", {{"version", 0}, {"roots", Json::array()}, {"nodes", Json::object()}}}},
       "Expected the plan to have a version of at least 1 and a text as goal, but it has not."}};
  for (const auto& [source, says] : cases) {
    const Result<OutlinePlan> plan = plan_given(source);
    ASSERT_FALSE(plan.ok()) << source;
    EXPECT_EQ(plan.error().message, says);
  }
}

TEST(PlanTree, its_json_form_comes_back_as_it_went) {
  const Json plan = Json::parse(R"({"plan_id": "p", "version": 7, "goal": "g", "roots": ["b", "a"], "nodes": {
      "a": {"name": "A", "dependencies": ["b"], "leaf": true}, "b": {"name": "B", "instruction": "Do it."},
      "b2": {"name": "B2", "parent_id": "b", "position": 0, "context": {"combined": "c"}},
      "b1": {"name": "B1", "parent_id": "b", "position": 1}}})");
  const Result<PlanTree> tree = read_plan(plan);
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const Json shown = plan_json(*tree);
  EXPECT_EQ(shown["roots"], (Json{"b", "a"}));
  EXPECT_EQ(shown["version"], 7);
  EXPECT_EQ(shown["nodes"]["b2"]["position"], 0);
  const Result<PlanTree> again = read_plan(shown);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->nodes(), tree->nodes());
}

// Small plans by chance: the dependencies that are kept have an order, and one that was dropped would leave none.
TEST(PlanTree, a_dependency_is_dropped_only_if_it_closes_a_circle) {
  std::uint32_t draw = 1;
  const auto drawn = [&draw](std::uint32_t below) {
    draw = draw * 1'664'525 + 1'013'904'223;
    return (draw >> 16) % below;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<PlanNode> tasks;
    for (std::uint32_t i = 0; i < 8; ++i) {
      PlanNode task{std::to_string(i), i == 0 || drawn(2) == 0 ? "" : std::to_string(drawn(i)), "T"};
      for (std::uint32_t n = drawn(4); n > 0; --n) task.dependencies.push_back(std::to_string(drawn(8)));
      tasks.push_back(task);
    }
    PlanTree plan;
    const std::vector<DroppedDependency> dropped = add_tasks(plan, tasks);
    EXPECT_TRUE(plan.is_ordered()) << round;
    for (const DroppedDependency& one : dropped) {
      PlanTree more = plan;
      std::vector<std::string> dependencies = more.find(one.task)->dependencies;
      dependencies.push_back(one.dependency);
      more.set_dependencies(one.task, dependencies);
      EXPECT_FALSE(more.is_ordered()) << round << ": " << one.task << " after " << one.dependency;
    }
  }
}

TEST(PlanTree, a_plan_as_deep_as_it_has_tasks_says_how_deep_each_is) {
  Json nodes = Json::object();
  for (std::size_t i = 0; i < plan_tasks_max; ++i) {
    nodes[std::to_string(i)] = {{"name", "T"}};
    if (i > 0) nodes[std::to_string(i)]["parent_id"] = std::to_string(i - 1);
  }
  const Result<PlanTree> tree = read_plan({{"roots", {"0"}}, {"nodes", std::move(nodes)}});
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  const std::vector<Fact> facts = plan_facts(*tree);
  ASSERT_EQ(facts.size(), plan_tasks_max);
  EXPECT_EQ(std::get<TaskDecomposed>(facts[1]).depth, 0);
  EXPECT_EQ(std::get<TaskDecomposed>(facts.back()).depth, 9'998);
}

// Passes over the run's plan, as a revision may have hung tasks below later ones.
TEST(PlanTree, tasks_that_hang_below_later_ones_come_in_passes) {
  StepInput input;
  const auto add = [&](const std::string& id, const std::string& parent, const std::string& title = "T") {
    GoalView goal;
    goal.id = id;
    goal.parent = parent;
    goal.title = title;
    input.plan.push_back(goal);
  };
  add("c", "b");
  add("d", "a");
  add("a", "", "first");
  add("b", "a");
  add("a", "", "again");
  add("e", "d");
  add("lost", "nowhere");
  add("x", "y");
  add("y", "x");
  const PlanTree tree = plan_seen(input);
  Names order;
  for (const PlanNode& node : tree.nodes()) order.push_back(node.id);
  EXPECT_EQ(order, (Names{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(tree.find("a")->name, "first");
  EXPECT_EQ(tree.position(*tree.find("d")), 1u);
}

// Each was looked for among all others, and each pass added one.
TEST(PlanTree, a_plan_of_as_many_tasks_as_it_may_have_is_merged_at_once) {
  constexpr int count = 10'000;
  StepInput input;
  input.data = Json::object();
  input.plan_version = 1;
  Json created = Json::array();
  std::vector<std::string> leaves;
  for (int i = count; i-- > 0;) {  // children before their parents
    GoalView goal;
    goal.id = "p" + std::to_string(i);
    goal.parent = i == 0 ? "" : "p" + std::to_string(i - 1);
    input.plan.push_back(goal);
    const std::string id = "n" + std::to_string(i);
    created.push_back({{"id", id},
                       {"parent_id", goal.id},
                       {"name", "T"},
                       {"instruction", ""},
                       {"dependencies", Json::array()},
                       {"context", nullptr},
                       {"leaf", false}});
    leaves.push_back(id);
  }
  input.with = {{"decomposition",
                 {{"base_version", 1},
                  {"removed_nodes", Json::array()},
                  {"leaves", leaves},
                  {"result", {{"mode", "plan_bfs"}, {"created_tasks", created}}}}}};
  HandlerTable table;
  add_plan_handlers(table);
  const auto& merge = std::get<PureHandler>(table.find("plan.merge")->run);
  const std::clock_t began = std::clock();  // of the processor: others may have it meanwhile
  const StepResult merged = merge(input);
  EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->label, "merged");
  ASSERT_EQ(merged->facts.size(), std::size_t{count} + 1) << "the revision, and a decomposition of each task";
  EXPECT_EQ(std::get<TaskDecomposed>(merged->facts[1]).depth, count - 1);
  EXPECT_EQ(std::get<TaskDecomposed>(merged->facts.back()).depth, 0);
}

// In pairs that wait for each other: each pair is a knot of its own.
TEST(PlanTree, many_small_circles_are_opened_at_once) {
  constexpr std::size_t count = 20'000;
  std::vector<PlanNode> tasks;
  for (std::size_t i = 0; i < count; ++i)
    tasks.push_back({"t" + std::to_string(i), "", "T", "", {"t" + std::to_string(i ^ 1)}});
  for (std::size_t i = 2; i < count; ++i) tasks[i].dependencies.push_back("t" + std::to_string(i - 2));
  PlanTree plan;
  const std::clock_t began = std::clock();  // of the processor: others may have it meanwhile
  const std::vector<DroppedDependency> dropped = add_tasks(plan, tasks);
  EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC);
  EXPECT_EQ(dropped.size(), count / 2);
  EXPECT_TRUE(plan.is_ordered());
}

TEST(PlanTree, ids_of_tasks_that_are_gone_are_not_given_again) {
  PlanTree plan;
  plan.add({"1", "", "One"});
  plan.add({"1.1", "1", "Old"});
  const PlanTree left = without(plan, {"1.1"});
  EXPECT_EQ(left.size(), 1U);
  EXPECT_EQ(left.new_ids("1", 2), (Names{"1.2", "1.3"}));
}

}  // namespace
}  // namespace cairn
