// Workers with their real threads, on both stores.
#include "workers/runtime/worker.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>

#include "tests/workers/runtime/worker_trial.hpp"

namespace cairn::test {
namespace {

using Clock = std::chrono::steady_clock;

TEST_P(WorkerTest, a_linear_run_is_executed_to_its_end) {
  const RunId run = start("linear", {{"text", "hello"}});
  const WorkerReport report = work_until_ended(run);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(output(run), Json({{"seen", "hello"}, {"text", "hello"}}));
  EXPECT_EQ(count(run, "step_succeeded"), 3);
  EXPECT_EQ(report.steps, 3);
  EXPECT_TRUE(store_->jobs().of(run).empty());
  EXPECT_TRUE(store_->sessions().all().empty());
}

TEST_P(WorkerTest, branches_of_a_fan_out_meet_at_their_join) {
  const RunId run = start("fan");
  work_until_ended(run);
  EXPECT_EQ(output(run)["count"], 3);
  EXPECT_EQ(count(run, "step_succeeded"), 6);
}

TEST_P(WorkerTest, sub_goals_run_on_tools_in_the_order_of_their_dependencies) {
  const Json goals = {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}},
                      {{"id", "b"}, {"tool", "echo"}, {"inputs", {{"y", {{"from_sub_goal", "a"}, {"slot", "x"}}}}}},
                      {{"id", "c"}, {"tool", "sleep"}, {"inputs", {{"ms", 1}}}}};
  const RunId run = start("map", {{"goals", goals}});
  work_until_ended(run);
  EXPECT_EQ(output(run)["results"]["b"]["y"], 1);
  EXPECT_EQ(count(run, "sub_goal_closed"), 3);
}

// Any of the worker's threads may ask `until`: the first tasks are posted, later ones run on the thread on which a
// store call has returned.
TEST_P(WorkerTest, what_until_throws_comes_out_of_the_worker) {
  start("linear", {{"text", "hello"}});
  for (const int asked_at : {1, 2, 3, 5, 8}) {
    int asked = 0;
    WorkerOptions options;
    options.until = [&]() -> bool {
      if (++asked >= asked_at) throw StoreUnavailable("Expected an answer, but there is none.");
      return false;
    };
    Worker worker(*store_, *catalogue_, options);
    EXPECT_THROW(worker.run(), StoreUnavailable) << asked_at;
  }
}

TEST_P(WorkerTest, an_answer_moves_a_waiting_run_on) {
  const RunId run = start("ask");
  ASSERT_TRUE(store_->run(run)->waiting);
  const Result<Done> wrong = client_->command(run, Answer{"", 7, "", {}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::invalid);
  ASSERT_EQ(store_->all_runs().questions(run, 10).size(), 1u);
  ASSERT_TRUE(client_->command(run, Answer{"", "north", "", {}}));
  EXPECT_TRUE(store_->all_runs().questions(run, 10).empty());
  const Result<Done> again = client_->command(run, Answer{"q1", "south", "", {}});
  EXPECT_FALSE(again);
  work_until_ended(run);
  EXPECT_EQ(output(run)["answer"], "north");
}

TEST_P(WorkerTest, a_timer_fires_when_it_is_due) {
  const RunId run = start("wait");
  work_until_ended(run);
  EXPECT_EQ(count(run, "timer_fired"), 1);
}

TEST_P(WorkerTest, a_called_run_begins_and_ends_together_with_its_step) {
  const RunId run = start("call", {{"word", "hi"}});
  WorkerOptions options;
  options.only_runs = {run};
  work_until_ended(run, options);
  EXPECT_EQ(output(run)["heard"], Json({{"said", "hi"}}));
  EXPECT_EQ(count(run, "child_started"), 1);
  EXPECT_EQ(count(run, "child_finished"), 1);
}

TEST_P(WorkerTest, a_child_left_behind_by_another_worker_is_executed_with_its_caller) {
  const RunId run = start("call", {{"word", "hi"}});  // the client started the child; no worker was notified
  WorkerOptions options;
  options.only_runs = {run};
  options.dead_after_ms = 200;
  work_until_ended(run, options);
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_P(WorkerTest, a_step_past_its_time_is_a_failed_attempt) {
  const RunId run = start("slow");
  work_until_ended(run);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(count(run, "step_failed"), 2);
}

// More branches than begin at once, each of which keeps the thread: the last ones' time is over before it is their
// turn, while others that are cancelled have just ended.
TEST_P(WorkerTest, a_step_whose_time_is_over_before_it_begins_is_not_begun) {
  constexpr int branches = 250;
  std::atomic<int> begun{0};
  catalogue_->handlers.add({.name = "t.long",
                            .labels = {"ok"},
                            .labels_from_node = false,
                            .reads = {"*"},
                            .reads_plan = false,
                            .version = 1,
                            .run = EffectHandler([&begun](StepInput, Ports&) -> boost::asio::awaitable<StepResult> {
                              ++begun;
                              std::this_thread::sleep_for(std::chrono::milliseconds(3));
                              co_return Outcome{"ok", Json::object(), {}};
                            })});
  Json graph = {{"name", "long"}, {"start", "a"}, {"limits", {{"steps", 500}}}};
  for (int n = 0; n < branches; ++n) {
    const std::string name = "b" + std::to_string(n);
    graph["nodes"]["a"]["on"]["ok"].push_back(name);
    graph["nodes"][name] = {{"do", "t.long"}, {"timeout_ms", 60}, {"on", {{"ok", "j"}, {"error", "j"}}}};
  }
  graph["nodes"]["a"]["do"] = "t.ok";
  graph["nodes"]["j"] = {{"do", "t.ok"}, {"join", true}, {"on", {{"ok", "z"}}}};
  graph["nodes"]["z"] = {{"end", "done"}};
  const Result<GraphRef> added = client_->add_graph(graph);
  ASSERT_TRUE(added) << added.error().message;
  const RunId run = start("long");
  WorkerOptions options;
  options.concurrency = 2'000;
  work_until_ended(run, options);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_GE(begun, 100);
  if (GetParam().shards == 1) {  // of several no claim may bring as many
    EXPECT_LT(begun, branches);
  }
}

TEST_P(WorkerTest, a_failed_attempt_is_tried_again_and_told_why) {
  const RunId run = start("retry");
  work_until_ended(run);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(output(run)["fault"], "not yet");
}

TEST_P(WorkerTest, a_handler_that_throws_is_a_failed_attempt) {
  const RunId run = start("thrown");
  work_until_ended(run);
  EXPECT_EQ(status(run), RunStatus::failed);
  EXPECT_NE(store_->run(run)->reason.find("thrown on purpose"), std::string::npos) << store_->run(run)->reason;
}

TEST_P(WorkerTest, a_run_cancelled_while_a_step_runs_stays_cancelled) {
  const RunId run = start("stuck");
  std::atomic<bool> cancelled{false};
  const auto is_held = [this, run] {
    const std::vector<HeldJob> jobs = store_->jobs().of(run);
    return !jobs.empty() && jobs[0].session != 0;
  };
  Worker worker(*store_, *catalogue_, {});
  std::thread working([&worker] { worker.run(); });
  const auto limit = Clock::now() + std::chrono::seconds(30);
  while (!is_held() && Clock::now() < limit) std::this_thread::yield();
  cancelled = static_cast<bool>(client_->command(run, Cancel{"enough"}));
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(status(run), RunStatus::aborted);
  const RunId next = start("linear");
  while (!is_ended(status(next)) && Clock::now() < limit) std::this_thread::yield();
  EXPECT_EQ(status(next), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::aborted);
  worker.stop();
  working.join();
}

TEST_P(WorkerTest, values_above_32_kib_live_beside_the_history) {
  const RunId run = start("bulk");
  work_until_ended(run);
  EXPECT_EQ(output(run), Json({{"bytes", 100000}, {"part", 100000}}));
  EXPECT_LT(history_text(*client_, run).size(), 10'000u);
  const Json data = read_channels(*client_->state(run), root_branch);
  EXPECT_EQ(data["bulk"]["bytes"], 100002);
  EXPECT_EQ(data["parts"][1], "small");
  EXPECT_EQ(client_->expand_blobs(data, shard_of(run, store_->shards()))["bulk"], std::string(100000, 'x'));
}

TEST_P(WorkerTest, a_step_whose_handler_is_elsewhere_is_given_back_without_an_attempt) {
  const RunId lacking = start("lacking");
  const RunId run = start("linear");
  work_until([&] {
    return is_ended(status(run)) && store_->jobs().of(lacking).at(0).session == 0 &&
           store_->jobs().of(lacking).at(0).epoch > 1;
  });
  EXPECT_EQ(count(lacking, "step_failed"), 0);
  EXPECT_EQ(store_->jobs().of(lacking).at(0).job.attempt, 1);
}

TEST_P(WorkerTest, what_a_dead_session_held_is_lost_and_done_by_another) {
  const RunId run = start("linear", {{"text", "x"}});
  store_->sessions().open({.id = 77, .host = "gone", .pid = 1, .queues = {"default"}});
  ClaimRequest request;
  request.shard = shard_of(run, store_->shards());
  request.queues = {"default"};
  request.session = 77;
  request.now_us = store_->database_time() + 1'000'000;
  ASSERT_EQ(store_->claim(request).jobs.size(), 1u);
  WorkerOptions options;
  options.dead_after_ms = 100;
  const WorkerReport report = work_until(
      [this, run] {
        const std::vector<SessionRow> sessions = store_->sessions().all();
        const bool is_buried =
            std::none_of(sessions.begin(), sessions.end(), [](const SessionRow& row) { return row.id == 77; });
        return is_ended(status(run)) && is_buried;
      },
      options);
  EXPECT_EQ(report.lost_swept, 1);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(count(run, "step_failed"), 1);
}

TEST_P(WorkerTest, what_a_session_without_a_row_holds_is_lost_as_well) {
  const RunId run = start("linear", {{"text", "x"}});
  ClaimRequest request;
  request.shard = shard_of(run, store_->shards());
  request.queues = {"default"};
  request.session = 78;
  request.now_us = store_->database_time() + 1'000'000;
  ASSERT_EQ(store_->claim(request).jobs.size(), 1u);
  work_until_ended(run);
  EXPECT_EQ(count(run, "step_failed"), 1);
}

TEST_P(WorkerTest, a_worker_that_stops_lets_go_of_what_it_has_not_begun) {
  std::vector<RunId> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(start("linear"));
  work_until([] { return true; });
  for (const RunId& run : runs)
    for (const HeldJob& job : store_->jobs().of(run)) EXPECT_EQ(job.session, 0);
  EXPECT_TRUE(store_->sessions().all().empty());
  work_until(
      [&] { return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); }); });
}

// Its own timers were most of what two hundred idle workers cost a machine.
TEST_P(WorkerTest, a_worker_without_work_wakes_seldom) {
  WorkerOptions options;
  options.poll_ms = 60'000;
  Worker worker(*store_, *catalogue_, options);
  std::thread working([&] { worker.run(); });
  const auto wakes = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw;
  };
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it has opened its session and looked at all
  const long before = wakes();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_LT(wakes() - before, 100);
  worker.stop();
  working.join();
}

// Its loop and its wait for notifications take a second else.
TEST_P(WorkerTest, a_worker_that_sleeps_stops_at_once_however_often_it_is_asked) {
  WorkerOptions options;
  options.poll_ms = 60'000;
  auto fastest = std::chrono::steady_clock::duration::max();
  for (int times = 0; times < 3; ++times) {
    Worker worker(*store_, *catalogue_, options);
    std::thread working([&] { worker.run(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto asked = std::chrono::steady_clock::now();
    std::thread also([&] {
      for (int n = 0; n < 1'000; ++n) worker.stop();
    });
    for (int n = 0; n < 1'000; ++n) worker.stop();
    working.join();
    also.join();
    fastest = std::min(fastest, std::chrono::steady_clock::now() - asked);
  }
  EXPECT_LT(fastest, std::chrono::milliseconds(400));
}

TEST_P(WorkerTest, the_history_is_the_same_kept_or_not_fused_or_not) {
  const auto history = [this](const std::string& graph, bool keep, int fuse) {
    const RunId run = start(graph);
    WorkerOptions options;
    options.keep = keep;
    options.fuse_steps = fuse;
    options.concurrency = 1;  // one branch after the other
    work_until_ended(run, options);
    return history_text(*client_, run);
  };
  const std::string plain = history("mixed", false, 1);
  EXPECT_EQ(history("mixed", true, 1), plain);
  EXPECT_EQ(history("mixed", true, 32), plain);
  EXPECT_EQ(history("mixed", false, 32), plain);
}

TEST_P(WorkerTest, two_workers_share_many_runs) {
  std::vector<RunId> runs;
  for (int i = 0; i < 60; ++i) runs.push_back(start(i % 3 == 0 ? "fan" : i % 3 == 1 ? "mixed" : "linear"));
  const auto all_ended = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); });
  };
  WorkerOptions options;
  options.concurrency = 4;
  Worker other(*store_, *catalogue_, options);
  std::thread working([&other] { other.run(); });
  work_until(all_ended, options);
  other.stop();
  working.join();
  for (const RunId& run : runs) EXPECT_EQ(status(run), RunStatus::done);
}

// Each step composes 1.5 MB of one text of 30 KB, for which there is room once.
TEST_P(WorkerTest, A9_steps_whose_references_compose_much_are_all_executed_in_a_small_room) {
  std::atomic<int> begun{0}, at_once{0}, most{0};
  catalogue_->handlers.add({.name = "t.lasting",
                            .labels = {"ok"},
                            .labels_from_node = false,
                            .reads = {"*"},
                            .reads_plan = false,
                            .version = 1,
                            .run = EffectHandler([&](StepInput, Ports&) -> boost::asio::awaitable<StepResult> {
                              ++begun;
                              most = std::max(most.load(), ++at_once);
                              boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                                              std::chrono::milliseconds(20));
                              co_await timer.async_wait(boost::asio::use_awaitable);
                              --at_once;
                              co_return Outcome{"ok", Json::object(), {}};
                            })});
  Json all = Json::array();
  for (int n = 0; n < 50; ++n) all.push_back({{"$", "text"}});
  const Json graph = {
      {"name", "many"},
      {"start", "a"},
      {"limits", {{"steps", 9}}},
      {"nodes",
       {{"a", {{"do", "t.lasting"}, {"with", {{"all", all}}}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}}}};
  ASSERT_TRUE(client_->add_graph(graph));
  std::vector<RunId> runs;
  for (int n = 0; n < 8; ++n) runs.push_back(start("many", {{"text", std::string(30'000, 'x')}}));
  WorkerOptions options;
  options.values_bytes_max = 2'000'000;
  options.until = [&, limit = Clock::now() + std::chrono::seconds(20)] {
    return Clock::now() > limit ||
           std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); });
  };
  Worker(*store_, *catalogue_, options).run();
  for (const RunId& run : runs) EXPECT_EQ(status(run), RunStatus::done) << history_text(*client_, run);
  EXPECT_GE(begun, 8);
  EXPECT_EQ(most, 1) << "there is room for one";
}

// Nothing of the versions that are not current is kept: each is read when a run needs it.
TEST_P(WorkerTest, A16_a_version_that_is_current_no_more_is_read_when_a_run_needs_it) {
  const auto version = [](int n, const std::string& node) {
    return parse_stored(R"({"name": "often", "start": "a", "limits": {"steps": 50}, "nodes": {
      "a": {"do": "t.ok", "queue": ")" +
                        node + R"(", "on": {"ok": "w"}},
      "w": {"wait": {"ms": 300}, "on": {"fired": "b"}},
      "b": {"do": "t.ok", "with": {"set": {"n": )" +
                        std::to_string(n) + R"(}}, "on": {"ok": "z"}},
      "z": {"end": "done"}}})");
  };
  std::vector<RunId> runs;
  std::vector<std::string> versions;
  for (int n = 0; n < 6; ++n) {
    const Result<GraphRef> added = client_->add_graph(version(n, n == 0 ? "of_the_first_alone" : "default"));
    ASSERT_TRUE(added) << added.error().message;
    versions.push_back((*added)->version);
    runs.push_back(start("often"));
  }
  const auto are_done = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); });
  };
  const auto wait = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return count(run, "step_succeeded") == 1; });
  };
  WorkerOptions options;
  options.graphs_bytes_max = 0;
  work_until(wait, options);
  ASSERT_TRUE(client_->command(runs[1], MoveRun{versions[2]}));
  ASSERT_TRUE(client_->command(runs[1], MoveRun{versions[3]}));
  work_until(are_done, options);
  for (int n = 0; n < 6; ++n) {
    EXPECT_EQ(status(runs[static_cast<std::size_t>(n)]), RunStatus::done) << n;
    EXPECT_EQ(output(runs[static_cast<std::size_t>(n)])["n"], n == 1 ? 3 : n) << n;
  }
}

// A fork under another version takes its answers from a run whose version this worker has not met.
TEST_P(WorkerTest, A16_the_record_of_a_fork_may_be_of_another_version) {
  const RunId origin = start("map", {{"goals", {{{"id", "g"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}}}}});
  work_until_ended(origin);
  Json changed = parse_stored(client_->graphs().current("map")->text);
  changed["limits"]["steps"] = 400;
  const Result<GraphRef> graph = client_->add_graph(changed);
  ASSERT_TRUE(graph) << graph.error().message;
  ForkOptions how;
  how.seq = 1;
  how.recorded = true;
  how.graph = *graph;
  const Result<Started> fork = client_->fork(origin, how);
  ASSERT_TRUE(fork) << fork.error().message;
  WorkerOptions options;
  options.graphs_bytes_max = 0;
  work_until_ended(fork->run, options);
  EXPECT_EQ(status(fork->run), RunStatus::done);
  EXPECT_EQ(output(fork->run), output(origin));
}

INSTANTIATE_TEST_SUITE_P(Stores, WorkerTest,
                         ::testing::Values(WorkerStore{"memory", true, 1}, WorkerStore{"memory_4_shards", true, 4},
                                           WorkerStore{"postgres", false, 1},
                                           WorkerStore{"postgres_4_shards", false, 4}),
                         [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace cairn::test
