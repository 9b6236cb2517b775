// Maps: whose sub-goals they take, what their steps are like, what one closing costs; budgets and limits.
#include <algorithm>
#include <chrono>

#include "tests/engine/trial.hpp"
#include "tests/thread_seconds.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

// A plan at the root, then two branches that plan and map on their own.
const char* const branches_that_map = R"({"name":"t","start":"p","limits":{"steps":99},"nodes":{
  "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
  "m":{"map":"sub_goals","on":{"joined":"q"}},
  "q":{"do":"x.q","labels":["ok"],"on":{"ok":["a","b"]}},
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"am"}},"am":{"map":"sub_goals","on":{"joined":"j"}},
  "b":{"do":"x.b","labels":["ok"],"on":{"ok":"bm"}},"bm":{"map":"sub_goals","on":{"joined":"j"}},
  "j":{"map":"sub_goals","join":true,"on":{"joined":"z"}},"z":{"end":"done"}}})";

TEST(Maps, a_map_takes_the_sub_goals_of_its_own_branch_and_no_others) {
  Trial trial(branches_that_map);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("top")});
  trial.complete(3, "", R"({"v":7})");
  trial.complete(4, "ok", "{}", {sub_goal("late")});  // planned at the root, which then forks: for the map at the join
  trial.complete(5, "ok", "{}",
                 {sub_goal("mine"), sub_goal("uses", "echo", {}, R"({"in":{"from_sub_goal":"top","slot":"v"}})")});
  EXPECT_EQ(
      trial.complete(6, "ok", "{}", {sub_goal("others", "echo", {"top"}), sub_goal("no", "echo", {"late"})}).at(1),
      "6 sub_goal_rejected no: Expected sub-goal late to have succeeded, but it is planned.");
  EXPECT_EQ(find_goal(trial.state, root_branch, "late")->step, 0) << "no branch's map takes what its ancestor planned";
  const StepId uses = find_goal(trial.state, trial.state.steps.at(7).branch, "uses")->step;
  ASSERT_NE(uses, 0) << "`after` and references look in the branch and its ancestors";
  EXPECT_EQ(*resolved_inputs(trial.state, trial.state.steps.at(uses)), parse_stored(R"({"in":7})"));
  EXPECT_EQ(find_goal(trial.state, trial.state.steps.at(7).branch, "others"), nullptr) << "nor in a sibling";
  for (const StepId step : {8, 9, 11}) trial.complete(step, "");
  ASSERT_NE(find_goal(trial.state, root_branch, "late")->step, 0);
  EXPECT_EQ(trial.complete(find_goal(trial.state, root_branch, "late")->step, "").back(), "run_finished done {}");
}

TEST(Maps, a_reference_to_a_siblings_sub_goal_is_dangling) {
  Trial trial(branches_that_map);
  trial.start();
  trial.complete(1, "ok");
  trial.complete(3, "ok");
  trial.complete(4, "ok", "{}", {sub_goal("mine")});
  EXPECT_EQ(trial.complete(5, "ok", "{}", {sub_goal("x", "echo", {"mine"})}).front(),
            "5 sub_goal_rejected x: Expected mine to be a sub-goal, but there is none of that id.");
}

TEST(Maps, sub_goals_wait_in_their_tools_queue_with_the_retry_and_timeout_of_the_map) {
  Trial trial(R"({"name":"t","start":"p","limits":{"steps":99},"nodes":{
    "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
    "m":{"map":"sub_goals","timeout_ms":1234,"retry":{"attempts":3,"backoff_ms":100,"lost":0},
         "on":{"joined":"z","partial":"y"}},"y":{"end":"failed"},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a", "slow"), sub_goal("b")});
  const Job& job = trial.queue.at(trial.state.steps.at(3).branch);
  EXPECT_EQ(job.queue, "slow");
  EXPECT_EQ(job.timeout_ms, 1234);
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(4).branch).queue, "default");
  trial.fail(3);
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(3).branch).run_at_us, trial.now_us + 100'000);
  trial.fail(3);
  EXPECT_EQ(trial.fail(3), (Lines{"3 sub_goal_closed a failed error"}));
  EXPECT_EQ(trial.fail(4, "lost"),
            (Lines{"4 sub_goal_closed b failed lost", "2 step_succeeded m partial -> y", "run_finished failed {}"}));
}

TEST(Maps, partial_falls_back_to_joined) {
  Trial trial(branches_that_map);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a"), sub_goal("b")});
  trial.fail(3);
  EXPECT_EQ(trial.complete(4, "").back(), "2 step_succeeded m partial -> q");
}

TEST(Maps, sub_goals_write_only_their_own_result) {
  Trial trial(branches_that_map);
  trial.start(R"({"x":1})");
  trial.complete(1, "ok", "{}", {sub_goal("a")});
  trial.complete(3, "", R"({"x":2,"y":3})");
  EXPECT_EQ(read_channels(trial.state, root_branch), parse_stored(R"({"x":1})"));
  EXPECT_EQ(find_goal(trial.state, root_branch, "a")->outputs, parse_stored(R"({"x":2,"y":3})"));
}

TEST(Maps, a_sub_goal_that_depends_on_two_opens_when_the_second_succeeds) {
  Trial trial(branches_that_map);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("c", "echo", {"a", "b", "a"}), sub_goal("a"), sub_goal("b")});
  EXPECT_EQ(trial.queue.size(), 2u);
  trial.complete(3, "");
  EXPECT_EQ(find_goal(trial.state, root_branch, "c")->step, 0);
  trial.complete(4, "");
  EXPECT_EQ(find_goal(trial.state, root_branch, "c")->step, 5);
}

// Closing one sub-goal once read every sub-goal of the map: a map of n took n * n.
TEST(Maps, closing_a_sub_goal_costs_its_dependents_and_not_the_maps_width) {
  const auto touched_in_a_map_of = [](int width) {
    Trial wide(R"({"name":"t","start":"p","limits":{"steps":100000},"nodes":{
      "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},"m":{"map":"sub_goals","on":{"joined":"z"}},
      "z":{"end":"done"}}})");
    wide.start();
    std::vector<Fact> goals;
    for (int n = 0; n < width; ++n) goals.push_back(sub_goal("g" + std::to_string(n)));
    goals.push_back(sub_goal("after", "echo", {"g0"}));
    wide.complete(1, "ok", "{}", goals);
    const Result<Decision> closed = wide.when(CompleteStep{3, 1, {"", Json::object(), {}}, 7, 0, 0});
    return closed->touched.size();
  };
  EXPECT_EQ(touched_in_a_map_of(3), 3u) << "the closed one, the map's and the dependent";
  EXPECT_EQ(touched_in_a_map_of(300), 3u);
}

// Such work waited for what never runs: the map stayed open for ever, without a job.
TEST(Maps, work_that_comes_after_structure_is_rejected) {
  Trial trial(branches_that_map);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {PlanCreated{1, "g", {{"root", "All", {}, nullptr}}}, sub_goal("part", ""), sub_goal("top"),
                  sub_goal("w", "echo", {"part"})});
  EXPECT_EQ(line_of(trial.history[4]),
            "1 sub_goal_rejected w: Expected part to be work that can succeed, but it is structure, without a tool.");
  trial.complete(3, "");
  EXPECT_EQ(trial.complete(4, "ok", "{}", {sub_goal("v", "echo", {"root"}), sub_goal("leaf", "", {"part", "root"})}),
            (Lines{"4 sub_goal_rejected v: Expected root to be work that can succeed, but it is structure, without a "
                   "tool.",
                   "4 sub_goal_opened leaf ", "4 step_succeeded q ok -> a b"}));
}

// A revision made planned work come after itself: the map stayed open for ever.
TEST(Maps, a_revision_does_not_change_what_work_comes_after) {
  Trial trial(branches_that_map);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("w"), PlanRevised{1, "gap", parse_stored(R"([{"op":"update","id":"w","after":["w"],"title":
                                                                        "Work"}])")}});
  ASSERT_NE(find_goal(trial.state, root_branch, "w")->step, 0);
  EXPECT_EQ(find_goal(trial.state, root_branch, "w")->title, "Work");
  EXPECT_EQ(trial.complete(3, "").back(), "2 step_succeeded m joined -> q");
}

// --- budgets --------------------------------------------------------------------------------------------------------

const char* const spending = R"({"name":"t","start":"a","limits":{"steps":6},"budgets":{"coins":{"cap":2}},"nodes":{
  "a":{"do":"x.a","labels":["ok","out"],"spends":"coins","on":{"ok":"a","out":"z","exhausted":"b"}},
  "b":{"do":"x.b","labels":["ok"],"on":{"ok":"a"}},"z":{"end":"done"}}})";

TEST(Budgets, nothing_resets_on_pause_resume_retry_or_reopening) {
  Trial trial(spending);
  trial.start();
  trial.then(Pause{});
  trial.then(Resume{});
  EXPECT_EQ(trial.state.budgets.at("coins").used, 1);
  trial.fail(1);
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  trial.then(Reopen{});
  EXPECT_EQ(trial.state.budgets.at("coins").used, 1) << "the visit was paid for";
  trial.complete(1, "ok");
  EXPECT_EQ(trial.state.budgets.at("coins").used, 2);
  trial.fail(2);
  trial.then(Reopen{});
  EXPECT_EQ(trial.complete(2, "ok"),
            (Lines{"2 step_succeeded a ok -> a", "3 budget_exhausted coins 2/2", "3 step_succeeded a exhausted -> b"}));
  EXPECT_EQ(trial.complete(4, "ok"), (Lines{"4 step_succeeded b ok -> a", "5 step_succeeded a exhausted -> b"}))
      << "budget_exhausted is told once";
}

TEST(Budgets, what_is_exhausted_is_not_executed) {
  Trial trial(spending);
  Options options;
  options.budgets["coins"] = 0;
  trial.start("{}", options);
  EXPECT_EQ(trial.queue.at(root_branch).step, 2) << "step 1 never had a job";
  EXPECT_EQ(trial.refused(CompleteStep{1, 1, {"ok", Json::object(), {}}, 7, 0, 0}).code, Code::closed);
}

TEST(Budgets, branches_share_one) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":9},"budgets":{"coins":{"cap":2}},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b","c"]}},
    "a":{"do":"x.a","labels":["ok"],"spends":"coins","on":{"ok":"j","exhausted":"j"}},
    "b":{"do":"x.a","labels":["ok"],"spends":"coins","on":{"ok":"j","exhausted":"j"}},
    "c":{"do":"x.a","labels":["ok"],"spends":"coins","on":{"ok":"j","exhausted":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok"), (Lines{"1 step_succeeded f ok -> a b c", "4 budget_exhausted coins 2/2",
                                            "4 step_succeeded c exhausted -> j"}));
}

// --- retry and loss -------------------------------------------------------------------------------------------------

TEST(Losses, A10_one_error_two_losses_beside_others_and_five_alone_are_allowed_unless_the_node_says_otherwise) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":6},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  for (int n = 1; n <= 7; ++n)
    EXPECT_EQ(trial.fail(1, "lost"), (Lines{"1 step_failed a attempt " + std::to_string(n) + " lost again"}));
  EXPECT_EQ(trial.fail(1, "lost"), (Lines{"1 step_failed a attempt 8 lost for good",
                                          "1 run_finished failed (Step 1 (a) failed: lost: it "
                                          "broke) {}"}));
  trial.then(Reopen{});
  EXPECT_EQ(trial.fail(1).front(), "1 step_failed a attempt 1 error for good");
}

TEST(Losses, an_outcome_that_is_refused_its_label_may_be_tried_again) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":6},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":2},"on":{"ok":"z","error":"z"}},"z":{"end":"done"}}})");
  trial.start();
  EXPECT_EQ(trial.complete(1, "error"), (Lines{"1 step_failed a attempt 1 invalid again"}))
      << "the engine's labels are not the handler's";
  EXPECT_EQ(trial.complete(1, "ok").size(), 2u);
}

// --- a map that caches -----------------------------------------------------------------------------------------------
Json looping_map(bool caches) {
  Json graph = parse_stored(R"({"name":"t","start":"p","limits":{"steps":99},"nodes":{
    "p":{"do":"x.p","labels":["more","end"],"on":{"more":"m","end":"z"}},
    "m":{"map":"sub_goals","on":{"joined":"p"}},"z":{"end":"done"}}})");
  graph["nodes"]["m"]["cache"] = caches;
  return graph;
}

TEST(Maps, a_map_that_caches_takes_the_outputs_of_the_same_work_in_an_earlier_map) {
  Trial trial(canonical(looping_map(true)));
  trial.start();
  trial.complete(1, "more", "{}", {sub_goal("a", "echo", {}, R"({"x":1})")});
  trial.complete(3, "", R"({"v":7})");
  const Lines lines =
      trial.complete(4, "more", "{}",
                     {sub_goal("same", "echo", {}, R"({"x":1})"), sub_goal("other", "echo", {}, R"({"x":2})"),
                      sub_goal("uses", "echo", {}, R"({"x":{"from_sub_goal":"a","slot":"v"}})"),
                      sub_goal("after", "echo", {}, R"({"x":{"from_sub_goal":"same","slot":"v"}})")});
  EXPECT_EQ(find_goal(trial.state, root_branch, "same")->status, GoalStatus::succeeded);
  EXPECT_EQ(find_goal(trial.state, root_branch, "same")->outputs, parse_stored(R"({"v":7})"));
  EXPECT_EQ(find_goal(trial.state, root_branch, "other")->status, GoalStatus::open);
  EXPECT_EQ(find_goal(trial.state, root_branch, "uses")->status, GoalStatus::open);
  EXPECT_NE(find_goal(trial.state, root_branch, "after")->step, 0) << "what waits for it goes on";
  const auto* closed = std::get_if<SubGoalClosed>(&trial.history.back().body);
  ASSERT_NE(closed, nullptr) << lines.back();
  EXPECT_EQ(closed->reused_from, "a");
  EXPECT_EQ(closed->attempt, 0);
}

// A19: each sub-goal was compared with every one before it.
TEST(Maps, A19_what_a_caching_map_takes_over_costs_as_much_as_it_has_sub_goals) {
  const auto seconds_of = [](int count) {
    Json graph = looping_map(true);
    graph["limits"]["steps"] = 100'000;
    Trial trial(canonical(graph));
    trial.replay_every = 1'000'000;
    trial.start();
    std::vector<Fact> first, again;
    for (int n = 0; n < count; ++n) {
      const std::string inputs = "{\"x\":" + std::to_string(n) + "}";
      first.push_back(sub_goal("a" + std::to_string(n), "echo", {}, inputs));
      again.push_back(sub_goal("b" + std::to_string(n), "echo", {}, inputs));
    }
    Context context;
    context.now_us = trial.now_us;
    context.tools = &trial.tools;
    const auto complete = [&](StepId step, const std::string& label, std::vector<Fact> facts, Json patch) {
      const CompleteStep command{step, 1, {label, std::move(patch), std::move(facts), ""}, 0, trial.now_us, 0};
      ASSERT_TRUE(decide(trial.state, command, context, trial.graphs));
    };
    complete(1, "more", std::move(first), Json::object());
    for (int n = 0; n < count; ++n) complete(3 + n, "", {}, {{"v", n}});
    const double began = test::thread_seconds();
    complete(3 + count, "more", std::move(again), Json::object());
    const double took = test::thread_seconds() - began;
    const SubGoal* last = find_goal(trial.state, root_branch, "b" + std::to_string(count - 1));
    EXPECT_EQ(last->outputs, Json({{"v", count - 1}}));
    return took;
  };
  const double few = std::min({seconds_of(500), seconds_of(500), seconds_of(500)});
  EXPECT_LT(std::min(seconds_of(4'000), seconds_of(4'000)), 32 * few) << "eight times as many; it was 64 times";
}

// A12: what a caching map takes over is copied into each event, 12 MB here, and nothing added it up.
TEST(Maps, A12_the_outputs_that_a_caching_map_takes_over_have_a_bound_of_bytes_together) {
  Trial trial(canonical(looping_map(true)));
  trial.start();
  trial.complete(1, "more", "{}", {sub_goal("a", "echo", {}, R"({"x":1})")});
  Context context;
  context.now_us = trial.now_us;
  context.tools = &trial.tools;
  const auto complete = [&](StepId step, const std::string& label, std::vector<Fact> facts, Json patch) {
    return decide(trial.state,
                  CompleteStep{step, 1, {label, std::move(patch), std::move(facts), ""}, 0, trial.now_us, 0}, context,
                  trial.graphs);
  };
  ASSERT_TRUE(complete(3, "", {}, {{"v", std::string(12'000'000, 'x')}}));
  std::vector<Fact> again;
  for (int n = 0; n < 20; ++n) again.push_back(sub_goal("b" + std::to_string(n), "echo", {}, R"({"x":1})"));
  const Result<Decision> decided = complete(4, "more", std::move(again), Json::object());
  ASSERT_TRUE(decided) << decided.error().message;
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_NE(trial.state.reason.find("bytes of values of one decision"), std::string::npos) << trial.state.reason;
  const auto copies = std::count_if(decided->events.begin(), decided->events.end(), [](const Event& event) {
    return std::holds_alternative<SubGoalClosed>(event.body);
  });
  EXPECT_EQ(copies, 12) << "the twelfth is the one over it";
}

TEST(Maps, a_map_that_does_not_cache_works_again) {
  Trial trial(canonical(looping_map(false)));
  trial.start();
  trial.complete(1, "more", "{}", {sub_goal("a", "echo", {}, R"({"x":1})")});
  trial.complete(3, "", R"({"v":7})");
  trial.complete(4, "more", "{}", {sub_goal("same", "echo", {}, R"({"x":1})")});
  EXPECT_EQ(find_goal(trial.state, root_branch, "same")->status, GoalStatus::open);
}

// If work of the same map were taken over, the result would show which of two finished first.
TEST(Maps, a_map_that_caches_takes_nothing_from_itself_nor_what_failed) {
  Trial trial(canonical(looping_map(true)));
  trial.start();
  trial.complete(1, "more", "{}", {sub_goal("a"), sub_goal("first"), sub_goal("late", "echo", {"first"})});
  trial.complete(3, "", R"({"v":7})");
  trial.complete(4, "");
  EXPECT_EQ(find_goal(trial.state, root_branch, "late")->status, GoalStatus::open);
  trial.fail(5);
  trial.complete(6, "more", "{}", {sub_goal("slow", "slow")});
  trial.fail(8);
  trial.complete(9, "more", "{}", {sub_goal("again", "slow")});
  EXPECT_EQ(find_goal(trial.state, root_branch, "again")->status, GoalStatus::open);
}

// --- what a tool needs and gives -------------------------------------------------------------------------------------
TEST(Maps, needs_of_inputs_and_slots_and_what_the_handler_rejects) {
  Trial trial(canonical(looping_map(false)));
  trial.tools["maker"] = {"default", {}, {"query"}};
  trial.tools["taker"] = {"default", {"*.query", "page"}};
  trial.start();
  const std::string query = R"("q":{"from_sub_goal":"m","slot":"query"})";
  SubGoalRejected mine;
  mine.sub_goal = "mine";
  mine.tool = "echo";
  mine.reason = "Not wanted.";
  trial.complete(1, "more", "{}",
                 {sub_goal("m", "maker"), sub_goal("good", "taker", {}, "{" + query + R"(,"page":2})"),
                  sub_goal("no_page", "taker", {}, "{" + query + "}"),
                  sub_goal("null_page", "taker", {}, "{" + query + R"(,"page":null})"),
                  sub_goal("no_query", "taker", {}, R"({"q":"select 1","page":2})"),
                  sub_goal("no_slot", "echo", {}, R"({"x":{"from_sub_goal":"m","slot":"rows"}})"), mine,
                  sub_goal("behind", "echo", {"mine"})});
  Lines rejected;
  for (const Event& event : trial.history)
    if (std::holds_alternative<SubGoalRejected>(event.body)) rejected.push_back(line_of(event));
  EXPECT_EQ(rejected,
            (Lines{"1 sub_goal_rejected no_page: Expected tool taker to find page, but it is not there.",
                   "1 sub_goal_rejected null_page: Expected tool taker to find page, but it is not there.",
                   "1 sub_goal_rejected no_query: Expected tool taker to find *.query, but it is not there.",
                   "1 sub_goal_rejected no_slot: Expected sub-goal m to give rows, but it does not.",
                   "1 sub_goal_rejected mine: Not wanted.",
                   "1 sub_goal_rejected behind: Expected sub-goal mine to be part of the plan, but it was rejected."}));
  trial.complete(3, "", R"({"query":"q"})");
  trial.complete(4, "");
  trial.complete(5, "more", "{}", {sub_goal("left_none", "echo", {}, R"({"x":{"from_sub_goal":"m","slot":"rows"}})")});
  EXPECT_EQ(find_goal(trial.state, root_branch, "left_none"), nullptr) << "m has ended and left no such slot";
}

}  // namespace
}  // namespace cairn
