// The slice of a record: which outcomes an end depends on, and which it does not. That a slice can be cut from every
// history, and that its causes come before what they lead to, is compared at the end of every other run here (trial).
#include "engine/blame.hpp"

#include "engine/corrupt_history.hpp"
#include "engine/snapshot.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

HandlerReads settings_alone(const std::string&) {
  HandlerReads reads;
  reads.given = false;
  return reads;
}

Blame blame_of(const Trial& trial, const ReadsOf& reads = settings_alone) {
  Blame blame(trial.state.id, trial.graphs, reads);
  for (const Event& event : trial.history) blame.add(event);
  return blame;
}

std::string line_of(const BlamedOutcome& cause) {
  std::string line = cause.is_certain ? "" : "perhaps ";
  line += std::to_string(cause.distance) + " " + std::string(to_string(cause.kind));
  if (!cause.node.empty()) line += " " + cause.node + "/" + std::to_string(cause.step);
  if (!cause.sub_goal.empty()) line += " (" + cause.sub_goal + ")";
  return line;
}

// Each cause as "DISTANCE KIND NODE/STEP".
Lines causes(const Trial& trial, const BlameTarget& target = {}, const ReadsOf& reads = settings_alone) {
  const Result<BlameSlice> slice = blame_of(trial, reads).slice(target);
  EXPECT_TRUE(slice.ok()) << slice.error().message;
  Lines lines;
  if (slice)
    for (const BlamedOutcome& cause : slice->causes) lines.push_back(line_of(cause));
  return lines;
}

// How a node's outcome led on: "EVENT WAY NAME" for each.
Lines links_of(const Trial& trial, const std::string& node) {
  Lines lines;
  const Result<BlameSlice> slice = blame_of(trial).slice({});
  EXPECT_TRUE(slice.ok());
  if (!slice) return lines;
  for (const BlamedOutcome& cause : slice->causes)
    for (const BlameLink& link : cause.leads_to)
      if (cause.node == node)
        lines.push_back(std::to_string(link.seq) + " " + std::string(to_string(link.way)) +
                        (link.name.empty() ? "" : " " + link.name));
  return lines;
}

Record called(RecordKind kind, const std::string& name) {
  return Record{kind, canonical(Json{{kind == RecordKind::model_called ? "model" : "tool", name}, {"ok", true}})};
}
const Record model = called(RecordKind::model_called, "m1");

// --- data ------------------------------------------------------------------------------------------------------------

const char* const chain = R"({"name":"t","start":"a","limits":{"steps":9},"channels":{"log":{"reducer":"append"}},
  "nodes":{"a":{"do":"x.a","labels":["ok"],"on":{"ok":"b","error":"z"}},
  "b":{"do":"x.b","labels":["ok"],"on":{"ok":"c"}},
  "c":{"do":"x.c","labels":["ok"],"with":{"of":"{{v|none}} {{log|none}}"},"on":{"ok":"z"}},"z":{"end":"done"}}})";

Trial failed_chain(const std::string& first, const std::string& second) {
  Trial trial(chain);
  trial.start(R"({"unused":1})");
  trial.complete(1, "ok", first, {model});
  trial.complete(2, "ok", second, {model});
  trial.fail(3);
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  return trial;
}

TEST(Blame, of_two_model_calls_the_one_that_was_read_is_named_and_the_other_is_not) {
  const Trial trial = failed_chain(R"({"w":1})", R"({"v":2})");
  EXPECT_EQ(causes(trial), (Lines{"1 work c/3", "2 model b/2"}));
  EXPECT_EQ(causes(failed_chain(R"({"v":1})", R"({"w":2})")), (Lines{"1 work c/3", "2 model a/1"}));
  const Result<BlameSlice> slice = blame_of(trial).slice({});
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->of.kind, BlameKind::end);
  EXPECT_EQ(slice->of.seq, trial.state.seq);
  EXPECT_EQ(slice->causes[0].who, "x.c");
  EXPECT_EQ(slice->causes[1].who, "m1");
  EXPECT_TRUE(is_from_outside(slice->causes[1].kind));
  const std::int64_t failure = trial.state.seq - 1;
  EXPECT_EQ(slice->causes[1].leads_to, (std::vector<BlameLink>{{failure, BlameWay::channel, "v"}}));
}

TEST(Blame, a_value_that_was_overwritten_does_not_count) {
  EXPECT_EQ(causes(failed_chain(R"({"v":1})", R"({"v":2})")), (Lines{"1 work c/3", "2 model b/2"}));
}

TEST(Blame, all_that_appended_to_a_list_count) {
  EXPECT_EQ(causes(failed_chain(R"({"log":[1]})", R"({"log":[2]})")),
            (Lines{"1 work c/3", "2 model b/2", "2 model a/1"}));
}

TEST(Blame, the_input_counts_where_it_was_read) {
  Trial trial(chain);
  trial.start(R"({"v":1})");
  trial.complete(1, "ok");
  trial.complete(2, "ok");
  trial.fail(3);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/3", "2 input"}));
}

TEST(Blame, channels_that_a_person_set_count_in_place_of_what_was_there) {
  Trial trial(chain);
  trial.start();
  trial.complete(1, "ok", R"({"v":1})");
  trial.complete(2, "ok", R"({"log":[1]})");
  trial.then(EditChannels{Json{{"v", 5}}});
  trial.fail(3);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/3", "2 edit", "2 work b/2"}));
}

TEST(Blame, an_attempt_that_was_tried_again_does_not_count_with_what_it_called) {
  Trial trial(replaced(chain, R"("ok":"c"})", R"("ok":"c"},"retry":{"attempts":2})"));
  trial.start();
  trial.complete(1, "ok");
  trial.then(FailStep{2, 1, {"error", "it broke", true, {model}}, 7, trial.now_us, false});
  trial.complete(2, "ok", R"({"v":1})");
  trial.fail(3);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/3", "2 work b/2"}));
}

TEST(Blame, a_handler_that_may_have_read_every_channel_makes_them_uncertain) {
  const auto all = [](const std::string&) {
    HandlerReads reads;
    reads.all = true;
    return reads;
  };
  EXPECT_EQ(causes(failed_chain(R"({"w":1})", R"({"v":2})"), {}, all),
            (Lines{"1 work c/3", "2 model b/2", "perhaps 2 model a/1", "perhaps 2 input"}));
}

TEST(Blame, the_channels_that_a_handler_declares_count) {
  const auto declared = [](const std::string& handler) {
    HandlerReads reads;
    if (handler == "x.c") reads.channels = {"w"};
    reads.is_pure = true;
    return reads;
  };
  EXPECT_EQ(causes(failed_chain(R"({"w":1})", R"({"x":2})"), {}, declared), (Lines{"1 rule c/3", "2 model a/1"}));
}

TEST(Blame, an_outcome_that_was_used_again_is_that_of_the_step_that_made_it) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":99},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"cache":true,"on":{"ok":"b"}},
    "b":{"do":"x.a","labels":["ok"],"cache":true,"on":{"ok":"c"}},
    "c":{"do":"x.c","labels":["ok"],"with":{"a":"$v"},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  CompleteStep first{1, 1, {"ok", Json{{"v", 1}}, {}}, 7, 0, 0};
  first.outcome.cache_key = "k";
  trial.then(first);
  CompleteStep again = first;
  again.step = 2;
  again.cached_from = 1;
  trial.then(again);
  trial.fail(3);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/3", "2 work a/1"}));
}

// --- edges -----------------------------------------------------------------------------------------------------------

const char* const fork_in_the_road = R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
  "a":{"do":"x.a","labels":["yes","no"],"on":{"yes":"b","no":"b"}},
  "b":{"do":"x.b","labels":["yes","no"],"on":{"yes":"z","no":"c"}},
  "c":{"do":"x.c","labels":["ok"],"on":{"ok":"y"}},
  "y":{"end":"failed"},"z":{"end":"done"}}})";

TEST(Blame, a_label_that_led_to_the_end_counts_and_one_that_changed_nothing_does_not) {
  Trial trial(fork_in_the_road);
  trial.start();
  trial.complete(1, "no");
  trial.complete(2, "no");
  trial.complete(3, "ok");
  EXPECT_EQ(causes(trial), (Lines{"1 work b/2"})) << "both labels of a lead to b, and c had no choice";
  EXPECT_EQ(links_of(trial, "b"), (Lines{std::to_string(trial.state.seq) + " edge no"}));
}

TEST(Blame, a_round_of_a_loop_depends_on_the_rounds_before_it) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["again","enough"],"on":{"again":"b","enough":"z"}},
    "b":{"do":"x.b","labels":["ok"],"on":{"ok":"a"}},
    "z":{"do":"x.z","labels":["ok"],"on":{"ok":"y"}},"y":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "again");
  trial.complete(2, "ok");
  trial.complete(3, "again");
  trial.complete(4, "ok");
  EXPECT_EQ(causes(trial, {.step = 5}), (Lines{"1 work a/3", "2 work a/1"}));
  trial.complete(5, "enough");
  trial.fail(6);
  EXPECT_EQ(causes(trial), (Lines{"1 work z/6"})) << "whatever the rounds were, the run would have come to z";
}

TEST(Blame, a_failure_that_took_an_edge_counts_and_a_failure_that_did_not_happen_does_not) {
  const char* const coffee = R"({"name":"t","start":"water","limits":{"steps":9},"nodes":{
    "water":{"do":"x.water","labels":["ok"],"on":{"ok":"make","error":"sorry"}},
    "make":{"do":"x.make","labels":["ok"],"on":{"ok":"served","error":"sorry"}},
    "sorry":{"do":"x.say","labels":["ok"],"on":{"ok":"closed"}},
    "served":{"end":"done"},"closed":{"end":{"status":"failed","reason":"{{error/message}}"}}}})";
  Trial trial(coffee);
  trial.start();
  trial.complete(1, "ok");
  trial.fail(2, "no_milk");
  trial.complete(3, "ok");
  EXPECT_EQ(causes(trial), (Lines{"1 work make/2"}));
  const std::string end = std::to_string(trial.state.seq);
  EXPECT_EQ(links_of(trial, "make"), (Lines{end + " edge error", end + " failure"}));
}

TEST(Blame, a_budget_that_is_used_up_depends_on_those_that_used_it) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"budgets":{"tries":{"cap":2}},"nodes":{
    "a":{"do":"x.a","spends":"tries","labels":["again","ok"],"on":{"again":"a","ok":"z","exhausted":"y"}},
    "y":{"end":"failed"},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "again");
  trial.complete(2, "again");
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(causes(trial), (Lines{"1 engine a/3", "2 work a/2", "2 work a/1"}));
}

TEST(Blame, a_step_that_could_not_open_says_so_and_depends_on_its_way) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok","no"],"on":{"ok":"w","no":"z"}},
    "w":{"wait":{"ms":"$pause"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok", R"({"pause":"soon"})");
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(causes(trial), (Lines{"1 engine w/2", "2 work a/1"}));
}

// --- branches --------------------------------------------------------------------------------------------------------

const char* const two_branches = R"({"name":"t","start":"f","limits":{"steps":99},
  "channels":{"log":{"reducer":"append"}},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["l","r"]}},
  "l":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}},"r":{"do":"x.r","labels":["ok"],"on":{"ok":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"with":{"of":"{{v|none}} {{log|none}}"},"on":{"ok":"z"}},
  "z":{"end":"done"}}})";

Trial joined(const std::string& left, const std::string& right) {
  Trial trial(two_branches);
  trial.start();
  trial.complete(1, "ok", R"({"log":[0]})");
  trial.complete(3, "ok", right);
  trial.complete(2, "ok", left);
  trial.fail(4);
  return trial;
}

TEST(Blame, at_a_join_the_branch_that_is_last_in_edge_order_counts_whoever_finished_last) {
  EXPECT_EQ(causes(joined(R"({"v":1})", R"({"v":2})")), (Lines{"1 work j/4", "2 work r/3", "2 work f/1"}));
  EXPECT_EQ(causes(joined(R"({"v":1})", R"({"w":2})")), (Lines{"1 work j/4", "2 work l/2", "2 work f/1"}));
}

TEST(Blame, at_a_join_all_that_appended_count) {
  EXPECT_EQ(causes(joined(R"({"log":[1]})", R"({"log":[2]})")),
            (Lines{"1 work j/4", "2 work l/2", "2 work r/3", "2 work f/1"}));
}

TEST(Blame, a_branch_reads_its_own_view) {
  Trial trial(
      replaced(replaced(two_branches, R"("l":{"do":"x.l")", R"("l":{"do":"x.l","with":{"a":"$v"})"), "{{v|none}}", ""));
  trial.start(R"({"v":0})");
  trial.complete(1, "ok");
  trial.complete(3, "ok", R"({"v":2})");
  trial.fail(2);
  EXPECT_EQ(causes(trial), (Lines{"1 work l/2", "2 input"})) << "a sibling's value is not seen before the join";
}

// --- from outside ----------------------------------------------------------------------------------------------------

TEST(Blame, a_persons_answer_is_named_with_the_person) {
  Trial trial(R"({"name":"t","start":"q","limits":{"steps":9},"nodes":{
    "q":{"ask":{"kind":"question","prompt":"Which of {{goods}}?"},"into":"region","on":{"answered":"c","expired":"z"}},
    "c":{"do":"x.c","labels":["ok"],"with":{"a":"$region"},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start(R"({"goods":"tea"})");
  trial.then(Answer{"", "north", "ann", {}});
  trial.fail(2);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/2", "2 answer q/1", "3 input"}));
  const Result<BlameSlice> slice = blame_of(trial).slice({});
  EXPECT_EQ(slice->causes[1].who, "ann");
  EXPECT_EQ(slice->causes[1].leads_to.front().name, "region");
}

TEST(Blame, a_value_that_a_step_was_opened_with_counts) {
  Trial trial(R"({"name":"t","start":"q","limits":{"steps":9},"nodes":{
    "q":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"c","expired":"c"}},
    "c":{"do":"x.c","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.then(Answer{"", "north", "ann", {}});
  trial.fail(2);
  const auto given = [](const std::string&) { return HandlerReads(); };
  EXPECT_EQ(causes(trial, {}, given), (Lines{"1 work c/2", "2 answer q/1"}));
  EXPECT_EQ(causes(trial), (Lines{"1 work c/2"})) << "a handler that reads its settings alone";
}

TEST(Blame, the_signal_that_was_taken_counts_and_one_that_waits_does_not) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"signal":"go","timeout_ms":1000},"into":"heard","on":{"fired":"c","timeout":"z"}},
    "c":{"do":"x.c","labels":["ok"],"with":{"a":"$heard"},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.then(SendSignal{"go", 1, "s1"});
  trial.then(SendSignal{"go", 2, "s2"});
  trial.fail(2);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/2", "2 signal"}));
  EXPECT_EQ(blame_of(trial).slice({})->causes[1].seq, 2);
}

TEST(Blame, a_timer_counts_with_the_time_that_it_read) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"signal":"go","timeout_ms":"$pause"},"on":{"fired":"z","timeout":"y"}},
    "y":{"end":"failed"},"z":{"end":"done"}}})");
  trial.start(R"({"pause":1000})");
  trial.now_us += Trial::second_us;
  trial.then(Due{1});
  EXPECT_EQ(causes(trial), (Lines{"1 timer w/1", "2 input"}));
}

TEST(Blame, a_run_that_was_called_is_one_outcome_with_its_id) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"c"}},
    "c":{"call":"kid","with":{"n":"$n"},"on":{"done":"z","failed":"y"}},
    "y":{"end":{"status":"failed","reason":"{{error/message}}"}},"z":{"end":"done"}}})");
  trial.add_graph(R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
    "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok", R"({"n":1})");
  const RunId child = trial.children.front().state.id;
  trial.then(FinishChild{2, child, RunStatus::failed, "no milk", nullptr});
  EXPECT_EQ(causes(trial), (Lines{"1 child c/2", "2 work a/1"}));
  EXPECT_EQ(blame_of(trial).slice({})->causes[0].run, child);
}

TEST(Blame, a_fork_has_what_its_origin_had_as_one_outcome) {
  Trial origin(chain);
  origin.start();
  origin.complete(1, "ok", R"({"v":1})");
  origin.complete(2, "ok");
  Trial fork(chain);
  fork.now_us = origin.now_us + Trial::second_us;
  fork.state.id = plus(origin.state.id, 77);
  StartRun start;
  start.run = fork.state.id;
  start.graph = "t";
  start.version = "version of t";
  start.input = Json::object();
  start.forked_from = Origin{origin.state.id, origin.state.seq, "00ff", snapshot_json(origin.state)};
  fork.then(start);
  fork.fail(3);
  EXPECT_EQ(causes(fork), (Lines{"1 work c/3", "2 origin"}));
  EXPECT_EQ(blame_of(fork).slice({})->causes[1].run, origin.state.id);
}

// --- sub-goals and items ---------------------------------------------------------------------------------------------

const char* const planning = R"({"name":"t","start":"p","limits":{"steps":99},"nodes":{
  "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
  "m":{"map":"sub_goals","on":{"joined":"z","partial":"y"}},
  "z":{"end":"done"},"y":{"end":{"status":"failed","reason":"{{error/message}}"}}}})";

TEST(Blame, a_sub_goal_depends_on_its_planner_and_on_the_slots_that_it_read) {
  Trial trial(planning);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {model, sub_goal("a"), sub_goal("other"),
                  sub_goal("b", "echo", {}, R"({"in":{"from_sub_goal":"a","slot":"v"}})")});
  trial.complete(3, "", R"({"v":1})");
  trial.complete(4, "", R"({"v":2})");
  trial.fail(5);
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(causes(trial), (Lines{"1 tool m/5 (b)", "2 tool m/3 (a)", "2 model p/1"}));
}

TEST(Blame, a_sub_goal_that_was_skipped_depends_on_the_one_that_failed) {
  Trial trial(planning);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a"), sub_goal("b", "echo", {"a"})});
  trial.fail(3);
  EXPECT_EQ(causes(trial), (Lines{"1 engine m/2 (b)", "1 tool m/3 (a)", "2 work p/1"}));
}

TEST(Blame, a_reader_of_the_plan_depends_on_the_sub_goals_that_it_saw) {
  Trial trial(R"({"name":"t","start":"p","limits":{"steps":99},"nodes":{
    "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},"m":{"map":"sub_goals","on":{"joined":"c"}},
    "c":{"do":"x.collect","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a")});
  trial.complete(3, "", R"({"v":1})");
  trial.fail(4);
  const auto plan = [](const std::string& handler) {
    HandlerReads reads;
    reads.plan = handler == "x.collect";
    return reads;
  };
  EXPECT_EQ(causes(trial, {}, plan), (Lines{"1 work c/4", "2 tool m/3 (a)", "2 work p/1"}));
}

const char* const scores = R"({"name":"t","start":"a","limits":{"steps":99},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"m"}},
  "m":{"map":{"over":"$list","do":"x.score","labels":["ok"],"with":{"a":"$item"},"into":"scores"},
       "on":{"joined":"c","partial":"y"}},
  "c":{"do":"x.c","labels":["ok"],"with":{"a":"$scores"},"on":{"ok":"z"}},
  "y":{"end":{"status":"failed","reason":"{{error/message}}"}},"z":{"end":"done"}}})";

TEST(Blame, of_items_those_that_failed_count_where_the_map_was_partial) {
  Trial trial(scores);
  trial.start();
  trial.complete(1, "ok", R"({"list":[1,2]})");
  trial.fail(4);
  trial.complete(3, "ok", R"({"n":1})");
  EXPECT_EQ(causes(trial), (Lines{"1 work m/4", "2 work a/1"}));
}

TEST(Blame, a_reader_of_the_results_depends_on_all_items) {
  Trial trial(scores);
  trial.start();
  trial.complete(1, "ok", R"({"list":[1,2]})");
  trial.complete(4, "ok", R"({"n":2})");
  trial.complete(3, "ok", R"({"n":1})");
  trial.fail(5);
  EXPECT_EQ(causes(trial), (Lines{"1 work c/5", "2 work m/3", "2 work m/4", "2 work a/1"}));
}

// --- ends ------------------------------------------------------------------------------------------------------------

TEST(Blame, a_run_that_is_done_depends_on_what_it_gives) {
  Trial trial(chain);
  trial.start(R"({"unused":1})");
  trial.complete(1, "ok", R"({"v":1})");
  trial.complete(2, "ok", R"({"v":2})");
  trial.complete(3, "ok");
  ASSERT_EQ(trial.state.status, RunStatus::done);
  EXPECT_EQ(causes(trial), (Lines{"1 work b/2", "1 input"})) << "c wrote nothing, and b took the place of a";
}

TEST(Blame, a_run_whose_time_is_over_depends_on_what_was_open) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9,"ms":1000},"nodes":{
    "a":{"do":"x.a","labels":["ok","no"],"on":{"ok":"b","no":"z"}},
    "b":{"do":"x.b","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  trial.now_us += Trial::second_us;
  trial.then(Due{0});
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(causes(trial), (Lines{"1 timer", "2 work a/1"}));
}

TEST(Blame, too_many_steps_depend_on_the_choices_that_led_to_them) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":2},"nodes":{
    "a":{"do":"x.a","labels":["again","ok"],"on":{"again":"a","ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "again");
  trial.complete(2, "again");
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(causes(trial), (Lines{"1 work a/2", "2 work a/1"}));
}

TEST(Blame, a_cancelled_run_depends_on_no_outcome_but_says_who_cancelled_it) {
  Trial trial(chain);
  trial.start();
  trial.complete(1, "ok", R"({"v":1})");
  trial.then(Cancel{"enough"});
  const Result<BlameSlice> slice = blame_of(trial).slice({});
  ASSERT_TRUE(slice.ok());
  EXPECT_TRUE(slice->causes.empty());
  EXPECT_EQ(slice->of.who, "test");
}

TEST(Blame, a_cleanup_changes_nothing_of_what_led_to_it) {
  Trial trial(R"({"name":"t","start":"book","finally":"undo","limits":{"steps":9},"nodes":{
    "book":{"do":"x.book","labels":["ok"],"on":{"ok":"pay"}},
    "pay":{"do":"x.pay","labels":["ok"],"with":{"a":"$booking"},"on":{"ok":"z"}},
    "undo":{"do":"x.undo","labels":["ok"],"on":{"ok":"gone"}},"gone":{"end":"done"},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok", R"({"booking":7})");
  trial.fail(2);
  trial.complete(3, "ok", R"({"undone":true})");
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(causes(trial), (Lines{"1 end pay/2", "2 work pay/2", "3 work book/1"}));
  EXPECT_EQ(causes(trial, {.step = 3}), (Lines{"1 end pay/2", "2 work pay/2", "3 work book/1"}))
      << "the cleanup is there because the run was to end";
}

// --- targets and bounds ----------------------------------------------------------------------------------------------

TEST(Blame, a_step_or_an_event_is_explained_and_a_note_stands_for_its_step) {
  const Trial trial = failed_chain(R"({"v":1})", R"({"w":2})");
  EXPECT_EQ(causes(trial, {.step = 3}), (Lines{"1 model a/1"}));
  for (const Event& event : trial.history)
    if (event.step == 2 && std::holds_alternative<Record>(event.body)) {
      EXPECT_EQ(blame_of(trial).slice({.seq = event.seq})->of.step, 2);
    }
  EXPECT_TRUE(causes(trial, {.seq = 1}).empty());
}

TEST(Blame, a_target_that_is_none_is_refused_in_a_sentence) {
  Trial trial(chain);
  trial.start();
  const Blame blame = blame_of(trial);
  const auto refusal = [&blame](const BlameTarget& target) {
    const Result<BlameSlice> slice = blame.slice(target);
    EXPECT_FALSE(slice.ok());
    EXPECT_EQ(slice.error().code, Code::invalid);
    return slice.error().message;
  };
  EXPECT_NE(refusal({}).find("has not ended"), std::string::npos);
  EXPECT_NE(refusal({.step = 7}).find("has opened 1, but found 7"), std::string::npos);
  EXPECT_NE(refusal({.seq = 9}).find("from 1 to 1"), std::string::npos);
  EXPECT_NE(refusal({.seq = 0}).find("but found 0"), std::string::npos);
}

TEST(Blame, no_more_causes_than_asked_for_are_given_and_the_rest_is_counted) {
  const Trial trial = failed_chain(R"({"log":[1]})", R"({"log":[2]})");
  const Result<BlameSlice> slice = blame_of(trial).slice({}, 1);
  ASSERT_TRUE(slice.ok());
  ASSERT_EQ(slice->causes.size(), 1u);
  EXPECT_EQ(slice->causes[0].node, "c");
  EXPECT_EQ(slice->left_out, 2);
}

TEST(Blame, a_record_with_too_many_dependences_is_folded_to_its_end_and_no_slice_is_cut) {
  const Trial trial = failed_chain(R"({"v":1})", R"({"v":2})");
  Blame blame(trial.state.id, trial.graphs, settings_alone, 3);
  for (const Event& event : trial.history) blame.add(event);
  EXPECT_EQ(state_fingerprint(blame.state()), state_fingerprint(trial.state));
  const Result<BlameSlice> slice = blame.slice({});
  ASSERT_FALSE(slice.ok());
  EXPECT_EQ(slice.error().code, Code::limit);
  EXPECT_NE(slice.error().message.find("at most 3 dependences"), std::string::npos) << slice.error().message;
}

TEST(Blame, each_write_of_a_channel_counts_as_a_dependence) {
  Trial trial(chain);
  trial.start(R"({"p":1,"q":2,"r":3,"s":4})");
  for (const auto& [most, is_cut] : {std::pair<std::size_t, bool>{3, false}, {4, true}}) {
    Blame blame(trial.state.id, trial.graphs, settings_alone, most);
    blame.add(trial.history[0]);
    EXPECT_EQ(blame.slice({.seq = 1}).ok(), is_cut) << most;
  }
}

TEST(Blame, long_names_are_cut_by_bytes) {
  std::string name;
  for (int i = 0; i < 500'000; ++i) name += "ü";
  Trial trial(chain);
  trial.start();
  trial.complete(1, "ok", R"({"v":1})", {called(RecordKind::model_called, name)});
  trial.complete(2, "ok");
  trial.fail(3);
  const Result<BlameSlice> slice = blame_of(trial).slice({});
  ASSERT_EQ(slice->causes.size(), 2u);
  const std::string& who = slice->causes[1].who;
  EXPECT_LE(who.size(), Blame::name_shown_max);
  EXPECT_TRUE(who.starts_with("üü") && who.ends_with("ü...")) << who;
}

TEST(Blame, a_history_that_does_not_follow_is_corrupt) {
  const Trial trial = failed_chain("{}", "{}");
  Blame blame(trial.state.id, trial.graphs, settings_alone);
  blame.add(trial.history[0]);
  EXPECT_THROW(blame.add(trial.history[2]), CorruptHistory);
}

TEST(Blame, a_long_run_costs_what_its_steps_cost) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":4000},"channels":{"log":{"reducer":"append"}},"nodes":{
    "a":{"do":"x.a","labels":["again","ok"],"with":{"a":"$log"},"on":{"again":"a","ok":"z"}},"z":{"end":{"status":"failed","reason":"{{log}}"}}}})");
  trial.replay_every = 1'000'000;
  trial.start(R"({"log":[]})");
  constexpr StepId rounds = 2'000;
  for (StepId step = 1; step < rounds; ++step) trial.complete(step, "again", R"({"log":[1]})");
  trial.complete(rounds, "ok");
  const Result<BlameSlice> slice = blame_of(trial).slice({});
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->causes.size() + static_cast<std::size_t>(slice->left_out), static_cast<std::size_t>(rounds))
      << "the input, and all rounds that appended; the last one did not";
}

}  // namespace
}  // namespace cairn
