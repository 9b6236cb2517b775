// Forks, which continue from where another run stood, and moves to another version of the graph.
#include "engine/evolve.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const char* const left_kid = R"({"name":"left_kid","start":"k","limits":{"steps":9},"nodes":{
  "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

const char* const asks_twice = R"({"name":"t","start":"a","limits":{"steps":99},"budgets":{"rounds":{"cap":1}},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"spends":"rounds","on":{"ok":"q","exhausted":"z"}},
  "q":{"ask":{"kind":"question","prompt":"?"},"into":"answer","on":{"answered":"b","expired":"b"}},
  "b":{"do":"x.b","labels":["ok","again"],"on":{"ok":"z","again":"a"}},
  "z":{"end":"done"}}})";

const char* const forking = R"({"name":"t","start":"f","limits":{"steps":99},"channels":{"log":{"reducer":"append"}},
  "nodes":{"f":{"do":"x.f","labels":["ok"],"on":{"ok":["l","r"]}},
  "l":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}},"r":{"do":"x.r","labels":["ok"],"on":{"ok":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

StartRun fork_command(const Trial& origin, const std::string& version = "version of t") {
  StartRun start;
  start.run = plus(origin.state.id, 77);
  start.graph = "t";
  start.version = version;
  start.input = parse_stored(origin.state.input);
  start.forked_from = Origin{origin.state.id, origin.state.seq, "00ff", snapshot_json(origin.state)};
  return start;
}

// A run that continues from where the other one stands, under its graphs.
class Fork : public Trial {
 public:
  explicit Fork(const Trial& origin) : Trial(left_kid) {
    graphs = origin.graphs;
    now_us = origin.now_us + second_us;
    state.id = plus(origin.state.id, 77);
  }
};

TEST(Fork, goes_on_from_where_its_origin_stood_and_leaves_it_as_it_was) {
  Trial origin(asks_twice);
  origin.start(R"({"n":1})");
  origin.complete(1, "ok", R"({"n":2})");
  const std::string before = state_fingerprint(origin.state);
  Fork fork(origin);
  EXPECT_EQ(fork.then(fork_command(origin)), (Lines{R"(run_started t {"n":1})"}));
  EXPECT_EQ(fork.state.forked_from, (ForkPoint{origin.state.id, origin.state.seq}));
  EXPECT_EQ(fork.state.started_at, fork.now_us);
  EXPECT_EQ(read_channel(fork.state, root_branch, "n"), 2);
  EXPECT_EQ(fork.state.budgets.at("rounds").used, 1) << "a fork has spent what its origin had";
  fork.then(Answer{"", "north", "ann", {}});
  fork.complete(3, "ok");
  EXPECT_EQ(fork.state.status, RunStatus::done);
  EXPECT_EQ(state_fingerprint(origin.state), before);
  origin.then(Answer{"", "south", "ann", {}});
  EXPECT_EQ(read_channel(origin.state, root_branch, "answer"), "south") << "both can go on";
}

TEST(Fork, is_edited_and_answered_by_events_of_its_own) {
  Trial origin(asks_twice);
  origin.start();
  origin.complete(1, "ok", R"({"n":2})");
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.edit = Json{{"n", 9}};
  start.answers = {{"q2", "north"}};
  const Lines lines = fork.then(start);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].substr(0, 15), "channels_edited");
  EXPECT_EQ(fork.history[1].actor, "test");
  EXPECT_EQ(lines[2].substr(0, 19), "2 question_answered");
  EXPECT_EQ(read_channels(fork.state, root_branch), (Json{{"n", 9}, {"answer", "north"}}));
  EXPECT_NE(find_step(fork.state, 3), nullptr);
}

const char* const asks_by_template = R"({"name":"t","start":"a","limits":{"steps":99},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"q"}},
  "q":{"ask":{"kind":"question","prompt":"One of {{goods}}?","schema":{"enum":"$goods"}},"into":"taken",
       "on":{"answered":"z","expired":"z"}},
  "z":{"end":"done"}}})";

TEST(Fork, asks_an_open_question_again_if_it_reads_what_was_edited) {
  Trial origin(asks_by_template);
  origin.start();
  origin.complete(1, "ok", R"({"goods":["tea"]})");
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.edit = Json{{"goods", {"milk"}}};
  start.asks_again = true;
  start.answers = {{"q2", "milk"}};
  const Lines lines = fork.then(start);
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines[2].substr(0, 16), "2 question_asked");
  EXPECT_EQ(lines[3].substr(0, 19), "2 question_answered");
  const auto& asked = std::get<QuestionAsked>(fork.history[2].body);
  EXPECT_EQ(asked.question, "q2");
  EXPECT_EQ(asked.prompt, "One of [\"milk\"]?");
  EXPECT_EQ(asked.schema, Json::parse(R"({"enum":["milk"]})"));
  EXPECT_EQ(fork.state.status, RunStatus::done);

  Fork elsewhere(origin);
  start.edit = Json{{"other", 1}};
  start.answers.clear();
  EXPECT_EQ(elsewhere.then(start).size(), 2u) << "a question that reads nothing of it stands as it was asked";
  EXPECT_EQ(elsewhere.state.questions.at("q2").prompt, "One of [\"tea\"]?");
}

TEST(Fork, under_a_graph_that_asks_otherwise_asks_again) {
  Trial origin(asks_by_template);
  origin.start();
  origin.complete(1, "ok", R"({"goods":["tea"]})");
  Fork fork(origin);
  Json graph = Json::parse(asks_by_template);
  graph["nodes"]["q"]["ask"]["prompt"] = "Which?";
  StartRun start = fork_command(origin, "other");
  fork.graphs.add(version_of(graph.dump(), "other"), false);
  start.asks_again = true;
  EXPECT_EQ(fork.then(start).size(), 2u);
  EXPECT_EQ(fork.state.questions.at("q2").prompt, "Which?");
  graph["nodes"]["q"]["ask"]["prompt"] = "{{nobody_wrote_it}}";
  fork.graphs.add(version_of(graph.dump(), "third"), false);
  Fork lacking(origin);
  lacking.graphs = fork.graphs;
  start.version = "third";
  EXPECT_EQ(lacking.refused(start).code, Code::invalid);
  EXPECT_EQ(lacking.state.seq, 0) << "nothing is left of it";
}

TEST(Fork, whose_answer_or_edit_does_not_fit_is_refused_whole) {
  Trial origin(forking);
  origin.start();
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.answers = {{"q9", 1}};
  EXPECT_EQ(fork.refused(start).code, Code::not_found);
  start.answers.clear();
  start.edit = Json{{"log", 7}};
  EXPECT_EQ(fork.refused(start).code, Code::invalid);
  start.edit = Json::array();
  EXPECT_EQ(fork.refused(start).code, Code::invalid);
  EXPECT_EQ(fork.state.seq, 0) << "nothing is left of it";
}

TEST(Fork, of_a_failed_run_tries_its_failed_steps_again) {
  Trial origin(asks_twice);
  origin.start();
  origin.fail(1);
  ASSERT_EQ(origin.state.status, RunStatus::failed);
  Fork fork(origin);
  EXPECT_EQ(fork.then(fork_command(origin)), (Lines{"run_started t {}", "run_reopened"}));
  EXPECT_EQ(fork.state.status, RunStatus::running);
  EXPECT_EQ(fork.state.steps.at(1).attempt, 1);
}

const char* const waits_for_a_channel = R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
  "w":{"wait":{"ms":"$pause"},"on":{"fired":"z"}},"z":{"end":"done"}}})";
const char* const maps_a_channel = R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"m"}},
  "m":{"map":{"over":"$list","do":"x.score","labels":["ok"],"into":"scores"},"on":{"joined":"z"}},
  "z":{"end":{"status":"done","output":"$scores"}}}})";

TEST(Fork, of_a_wait_that_could_not_open_waits_as_its_edit_says) {
  Trial origin(waits_for_a_channel);
  origin.start(R"({"pause":"long"})");
  ASSERT_EQ(origin.state.status, RunStatus::failed);
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.edit = Json{{"pause", 5'000}};
  EXPECT_EQ(fork.then(start).size(), 3u) << "run_started, channels_edited, run_reopened";
  ASSERT_EQ(fork.state.status, RunStatus::running) << fork.state.reason;
  EXPECT_EQ(fork.state.steps.at(1).due, fork.now_us + 5'000'000);
  EXPECT_EQ(fork.queue.at(root_branch).run_at_us, fork.now_us + 5'000'000);
  fork.now_us += 5'000'000;
  EXPECT_EQ(fork.then(Due{1}).back(), R"(run_finished done {"pause":5000})");
}

TEST(Fork, of_a_map_that_could_not_open_maps_the_list_of_its_edit) {
  Trial origin(maps_a_channel);
  origin.start(R"({"list":"none"})");
  origin.complete(1, "ok");
  ASSERT_EQ(origin.state.status, RunStatus::failed);
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.edit = Json{{"list", {1, 2}}};
  fork.then(start);
  EXPECT_EQ(fork.queue.size(), 2u);
  fork.complete(3, "ok", R"({"n":1})");
  EXPECT_EQ(fork.complete(4, "ok", R"({"n":2})").back(), R"(run_finished done [{"n":1},{"n":2}])");
  Fork as_it_was(origin);
  as_it_was.then(fork_command(origin));
  EXPECT_EQ(as_it_was.state.status, RunStatus::failed) << "it is tried, and fails again";
  EXPECT_EQ(as_it_was.state.reason, origin.state.reason);
}

// As programs wrote it that left what could not open as it was: such a history folds to what it was, and is decided
// again as it was.
TEST(Fork, of_a_map_that_was_not_opened_again_stays_failed_in_its_history) {
  Trial origin(maps_a_channel);
  origin.start(R"({"list":"none"})");
  origin.complete(1, "ok");
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.edit = Json{{"list", {1, 2}}};
  start.opens_again = false;
  fork.then(start);
  EXPECT_EQ(fork.state.status, RunStatus::failed);
  EXPECT_EQ(fork.state.steps.size(), 1u);
  fork.then(Reopen{"once more", false});
  EXPECT_EQ(fork.state.status, RunStatus::failed);
  fork.then(Reopen{"once more"});
  EXPECT_EQ(fork.state.status, RunStatus::running) << "the list was there";
}

TEST(Fork, at_an_event_before_the_end_of_what_could_not_open_opens_it_with_its_edit) {
  Trial origin(maps_a_channel);
  origin.start(R"({"list":"none"})");
  origin.complete(1, "ok");
  Trial before(maps_a_channel);
  std::vector<BranchId> touched;
  for (const Event& event : origin.history)
    if (event.seq <= 2) evolve(before.state, event, before.graphs, touched);
  ASSERT_EQ(before.state.status, RunStatus::running);
  ASSERT_TRUE(before.state.steps.at(2).unfit);
  before.now_us = origin.now_us;
  Fork fork(before);
  StartRun start = fork_command(before);
  start.edit = Json{{"list", {1, 2}}};
  fork.then(start);
  EXPECT_EQ(fork.state.status, RunStatus::running) << fork.state.reason;
  EXPECT_EQ(fork.queue.size(), 2u);
}

TEST(Fork, of_a_run_that_had_ended_is_refused) {
  Trial origin(asks_twice);
  origin.start();
  origin.then(Cancel{"enough"});
  Fork fork(origin);
  EXPECT_EQ(fork.refused(fork_command(origin)).code, Code::closed);
  EXPECT_EQ(fork.state.seq, 0);
}

TEST(Fork, calls_a_child_of_its_own) {
  Trial origin(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"c"}},
    "c":{"call":"left_kid","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  origin.add_graph(left_kid);
  origin.start();
  origin.complete(1, "ok");
  const RunId child = origin.children.at(0).state.id;
  Fork fork(origin);
  EXPECT_EQ(fork.then(fork_command(origin)), (Lines{"run_started t {}", "2 child_started left_kid"}));
  EXPECT_NE(fork.children.at(0).state.id, child);
  EXPECT_EQ(fork.children.at(0).state.parent->run, fork.state.id);
  EXPECT_EQ(fork.refused(FinishChild{2, child, RunStatus::done, "", nullptr}).code, Code::conflict);
}

TEST(Fork, that_is_recorded_fails_where_the_record_has_no_answer_whatever_edges_there_are) {
  Trial origin(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":3},"on":{"ok":"z","error":"z"}},"z":{"end":"done"}}})");
  origin.start();
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.options.recorded = true;
  fork.then(start);
  EXPECT_TRUE(fork.state.options.recorded);
  fork.fail(1, diverged_error, false);
  EXPECT_EQ(fork.state.status, RunStatus::failed);
  EXPECT_NE(fork.state.reason.find("diverged"), std::string::npos) << fork.state.reason;
}

TEST(Fork, alone_may_be_recorded) {
  Trial trial(asks_twice);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.options.recorded = true;
  EXPECT_EQ(trial.refused(start).code, Code::invalid);
}

TEST(Fork, of_a_child_is_called_by_nobody) {
  Trial origin(asks_twice);
  StartRun start;
  start.run = origin.state.id;
  start.graph = "t";
  start.parent = Parent{plus(origin.state.id, 5), 3, 2};
  origin.then(start);
  Fork fork(origin);
  fork.then(fork_command(origin));
  EXPECT_FALSE(fork.state.parent);
  fork.then(Cancel{"x"});
  EXPECT_FALSE(parent_notice(fork.state));
}

TEST(Fork, inside_a_fan_out_has_its_edit_seen_by_every_branch) {
  Trial origin(forking);
  origin.start();
  origin.complete(1, "ok", R"({"n":1})");
  origin.complete(2, "ok", R"({"log":["l"]})");
  Fork fork(origin);
  StartRun start = fork_command(origin);
  start.edit = Json{{"n", 5}};
  fork.then(start);
  EXPECT_EQ(read_channel(fork.state, fork.state.steps.at(3).branch, "n"), 5);
  fork.complete(3, "ok", R"({"log":["r"]})");
  EXPECT_EQ(read_channels(fork.state, root_branch), (Json{{"n", 5}, {"log", {"l", "r"}}}));
}

TEST(Fork, under_a_graph_that_lacks_its_nodes_names_them_and_writes_nothing) {
  Trial origin(forking);
  origin.start();
  origin.complete(1, "ok");
  origin.graphs.add(version_of(asks_twice, "v2"), true);
  Fork fork(origin);
  const Error refused = fork.refused(fork_command(origin, "v2"));
  EXPECT_EQ(refused.code, Code::conflict);
  EXPECT_NE(refused.message.find("lacks l, r"), std::string::npos) << refused.message;
  EXPECT_EQ(fork.state.seq, 0);
}

TEST(Fork, goes_on_under_a_changed_graph_that_fits) {
  Trial origin(asks_twice);
  origin.start();
  origin.complete(1, "ok");
  const std::string changed =
      replaced(replaced(asks_twice, R"("cap":1)", R"("cap":2)"), R"("ok":"z","again")", R"("ok":"more","again")");
  origin.graphs.add(version_of(replaced(changed, R"("z":{"end":"done"})",
                                        R"("more":{"do":"x.m","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"})"),
                               "v2"),
                    true);
  Fork fork(origin);
  fork.then(fork_command(origin, "v2"));
  EXPECT_EQ(fork.state.graph->version, "v2");
  EXPECT_EQ(fork.state.budgets.at("rounds").cap, 2);
  EXPECT_EQ(fork.state.budgets.at("rounds").used, 1);
  fork.then(Answer{"", "north", "ann", {}});
  EXPECT_EQ(fork.complete(3, "ok"), (Lines{"3 step_succeeded b ok -> more"}));
}

TEST(Fork, under_a_higher_cap_charges_the_step_that_found_its_budget_used_up) {
  const std::string spends = R"({"name":"t","start":"a","limits":{"steps":9},"budgets":{"x":{"cap":1}},"nodes":{
    "a":{"do":"x.a","labels":["again","ok"],"spends":"x","on":{"again":"a","ok":"z"}},"z":{"end":"done"}}})";
  Trial origin(spends);
  origin.start();
  EXPECT_EQ(origin.complete(1, "again").back(),
            "2 run_finished failed (Step 2 (a) failed: exhausted: Budget x is used up: 1 of 1.) {}");
  origin.graphs.add(version_of(replaced(spends, R"("cap":1)", R"("cap":10)"), "v2"), false);
  Fork same(origin);
  EXPECT_EQ(same.then(fork_command(origin)).back(),
            "2 run_finished failed (Step 2 (a) failed: exhausted: Budget x is used up: 1 of 1.) {}");
  Fork fork(origin);
  EXPECT_EQ(fork.then(fork_command(origin, "v2")).back(), "run_reopened");
  EXPECT_EQ(fork.state.budgets.at("x").used, 2);
  EXPECT_EQ(fork.queue.at(root_branch).step, 2);
  EXPECT_EQ(fork.complete(2, "again").front(), "2 step_succeeded a again -> a");
}

// --- moves ----------------------------------------------------------------------------------------------------------

TEST(Move, puts_a_run_under_another_version_by_an_event) {
  Trial trial(forking);
  trial.graphs.add(version_of(replaced(forking, R"("ok":"z")", R"("ok":"y")")
                                  .insert(replaced(forking, R"("ok":"z")", R"("ok":"y")").rfind(R"("z":{)"),
                                          R"("y":{"do":"x.y","labels":["ok"],"on":{"ok":"z"}},)"),
                              "v2"),
                   false);
  trial.start();
  trial.complete(1, "ok", R"({"n":1})");
  trial.complete(2, "ok");
  EXPECT_EQ(trial.then(MoveRun{"v2"}), (Lines{"run_moved"}));
  trial.complete(3, "ok");
  EXPECT_EQ(trial.complete(4, "ok"), (Lines{"4 step_succeeded j ok -> y"}));
  trial.complete(5, "ok");
  EXPECT_EQ(trial.state.status, RunStatus::done);
}

TEST(Move, to_a_graph_where_its_node_is_of_another_verb_is_refused) {
  Trial trial(forking);
  trial.start();
  trial.complete(1, "ok");
  trial.graphs.add(version_of(replaced(forking, R"("l":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}})",
                                       R"("l":{"wait":{"ms":5},"on":{"fired":"j"}})"),
                              "v2"),
                   false);
  const Error refused = trial.refused(MoveRun{"v2"});
  EXPECT_EQ(refused.code, Code::conflict);
  EXPECT_NE(refused.message.find("to be do in"), std::string::npos) << refused.message;
}

// A step stays as it was opened: by what it waits for, and its limit of time.
std::string moved_to(const std::string& from, const std::string& to) {
  Trial trial(from);
  trial.start();
  trial.graphs.add(version_of(to, "v2"), false);
  const Error refused = trial.refused(MoveRun{"v2"});
  EXPECT_EQ(refused.code, Code::conflict);
  return refused.message;
}

std::string stands_at(const std::string& node) {
  return R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{"w":)" + node + R"(,"z":{"end":"done"}}})";
}

const std::string waits_for_a_second =
    stands_at(R"({"wait":{"signal":"go","timeout_ms":1000},"on":{"fired":"z","timeout":"z"}})");
const std::string waits_for_ever = stands_at(R"({"wait":{"signal":"go"},"on":{"fired":"z"}})");

TEST(Move, to_a_graph_without_the_edge_by_which_a_wait_would_time_out_is_refused) {
  EXPECT_NE(moved_to(waits_for_a_second, waits_for_ever)
                .find("Expected node w to have an edge for \"timeout\" in graph t of version v2, "
                      "by which step 1 may leave, but it has none."),
            std::string::npos);
  Trial trial(waits_for_ever);
  trial.start();
  trial.graphs.add(version_of(waits_for_a_second, "v2"), false);
  EXPECT_EQ(trial.then(MoveRun{"v2"}), (Lines{"run_moved"})) << "it waits on without a limit, as it was opened";
}

TEST(Move, to_a_graph_where_its_node_waits_for_a_time_and_no_longer_for_a_signal_is_refused) {
  const std::string signal = stands_at(R"({"wait":{"signal":"go"},"on":{"fired":"z"}})");
  const std::string time = stands_at(R"({"wait":{"ms":1000},"on":{"fired":"z"}})");
  EXPECT_NE(moved_to(signal, time).find("to wait for a signal in"), std::string::npos);
  EXPECT_NE(moved_to(time, signal).find("to wait for a time in"), std::string::npos);
}

TEST(Move, to_a_graph_without_the_edge_by_which_a_question_would_expire_is_refused) {
  const std::string open = stands_at(R"({"ask":{"prompt":"?"},"expires_ms":1000,"on":{"answered":"z","expired":"z"}})");
  const std::string answers = stands_at(R"({"ask":{"prompt":"?","default":1},"on":{"answered":"z"}})");
  EXPECT_NE(moved_to(open, answers).find("edge for \"expired\""), std::string::npos);
}

// An earlier build may have put it there.
TEST(Move, to_a_graph_without_the_edge_ends_in_a_failure_and_not_in_silence) {
  Trial trial(waits_for_a_second);
  trial.start();
  trial.graphs.add(version_of(waits_for_ever, "v2"), false);
  std::vector<BranchId> touched;
  evolve(trial.state, {trial.state.seq + 1, trial.now_us, 0, "", RunMoved{"v2"}}, trial.graphs, touched);
  Context context;
  context.now_us = trial.now_us + Trial::second_us;
  const Result<Decision> decided = decide(trial.state, Due{1}, context, trial.graphs);
  ASSERT_TRUE(decided);
  EXPECT_EQ(
      line_of(decided->events.back()),
      "1 run_finished failed (Step 1 (w) failed: invalid: Expected node w to have an edge for \"timeout\", but it "
      "has none.) {}");
}

// The branches of an open fan-out would meet at two joins.
TEST(Move, that_would_part_the_branches_of_a_fan_out_is_refused) {
  Trial trial(forking);
  trial.start();
  trial.complete(1, "ok");
  trial.graphs.add(version_of(R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
    "f":{"do":"x.f","labels":["ok","no"],"on":{"ok":["l","m"],"no":["r","n"]}},
    "l":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}},"m":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}},
    "r":{"do":"x.r","labels":["ok"],"on":{"ok":"k"}},"n":{"do":"x.r","labels":["ok"],"on":{"ok":"k"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},
    "k":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})",
                              "v2"),
                   false);
  const Error refused = trial.refused(MoveRun{"v2"});
  EXPECT_EQ(refused.code, Code::conflict);
  EXPECT_NE(refused.message.find("would meet at j and k"), std::string::npos) << refused.message;
}

TEST(Move, of_a_run_outside_every_fan_out_into_one_is_refused) {
  Trial trial(R"({"name":"t","start":"l","limits":{"steps":99},"nodes":{
    "l":{"do":"x.l","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.graphs.add(version_of(forking, "v2"), false);
  const Error refused = trial.refused(MoveRun{"v2"});
  EXPECT_EQ(refused.code, Code::conflict);
  EXPECT_NE(refused.message.find("it would meet j"), std::string::npos) << refused.message;
}

TEST(Move, keeps_data_as_the_old_graph_composed_it) {
  Trial trial(forking);
  trial.start(R"({"log":["a"]})");
  trial.complete(1, "ok", R"({"log":["b"]})");
  const std::string last = replaced(forking, R"("channels":{"log":{"reducer":"append"}},)", "");
  trial.graphs.add(version_of(last, "v2"), false);
  trial.then(MoveRun{"v2"});
  EXPECT_EQ(read_channel(trial.state, root_branch, "log"), (Json{"a", "b"}));
  trial.complete(2, "ok", R"({"log":"c"})");
  trial.complete(3, "ok");
  EXPECT_EQ(read_channel(trial.state, root_branch, "log"), "c");
}

TEST(Move, whose_channels_do_not_fit_what_the_run_holds_is_refused) {
  Trial trial(asks_twice);
  trial.start(R"({"n":"text"})");
  const std::string summing = replaced(asks_twice, R"("budgets")", R"("channels":{"n":{"reducer":"sum"}},"budgets")");
  trial.graphs.add(version_of(summing, "v2"), false);
  const Error refused = trial.refused(MoveRun{"v2"});
  EXPECT_EQ(refused.code, Code::conflict);
  EXPECT_NE(refused.message.find("channel n"), std::string::npos) << refused.message;
}

TEST(Move, gives_a_budget_that_the_old_graph_lacked_its_cap) {
  Trial trial(asks_twice);
  trial.start();
  const std::string costly =
      replaced(replaced(asks_twice, R"("rounds":{"cap":1})", R"("rounds":{"cap":1},"tries":{"cap":3})"),
               R"("b":{"do":"x.b",)", R"("b":{"do":"x.b","spends":"tries",)");
  trial.graphs.add(
      version_of(replaced(costly, R"("on":{"ok":"z","again":"a"})", R"("on":{"ok":"z","again":"a","exhausted":"z"})"),
                 "v2"),
      false);
  trial.then(MoveRun{"v2"});
  trial.complete(1, "ok");
  trial.then(Answer{"", 1, "ann", {}});
  EXPECT_EQ(trial.state.budgets.at("tries").cap, 3);
  EXPECT_EQ(trial.state.budgets.at("tries").used, 1);
  EXPECT_EQ(trial.state.status, RunStatus::running);
}

TEST(Move, to_nothing_to_itself_or_to_another_graph_is_refused) {
  Trial trial(asks_twice);
  trial.add_graph(left_kid);
  EXPECT_EQ(trial.refused(MoveRun{"version of t"}).code, Code::not_found) << "there is no run yet";
  trial.start();
  EXPECT_EQ(trial.refused(MoveRun{"v9"}).code, Code::not_found);
  EXPECT_EQ(trial.refused(MoveRun{"version of t"}).code, Code::conflict);
  EXPECT_EQ(trial.refused(MoveRun{"version of left_kid"}).code, Code::invalid);
  trial.then(Cancel{""});
  EXPECT_EQ(trial.refused(MoveRun{"version of t"}).code, Code::closed);
}

}  // namespace
}  // namespace cairn
