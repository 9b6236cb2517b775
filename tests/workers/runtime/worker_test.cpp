// Workers with their real threads, on both stores.
#include "workers/runtime/worker.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>
#include <type_traits>

#include "engine/event.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/ids.hpp"
#include "workers/runs/recorded_answers.hpp"

namespace cairn {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;

struct Variant {
  std::string name;
  bool memory = false;
  std::int32_t shards = 1;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class WorkerTest : public ::testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (GetParam().memory) {
      store_ = make_memory_store(GetParam().shards);
    } else {
      PostgresOptions options;
      options.dsn = new_database(GetParam().shards);
      Result<std::unique_ptr<Store>> opened = open_postgres_store(options);
      ASSERT_TRUE(opened) << opened.error().message;
      store_ = std::move(*opened);
    }
    catalogue_ = small_catalogue();
    client_ = client_with_graphs(*store_, *catalogue_);
  }

  RunId start(const std::string& graph, Json input = Json::object()) {
    StartRun command;
    command.graph = graph;
    command.input = std::move(input);
    const Result<Started> started = client_->start(std::move(command), "");
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    return started ? started->run : RunId{};
  }

  RunStatus status(const RunId& run) { return store_->run(run)->status; }

  // Works until the condition holds; the test fails if it does not within the limit.
  WorkerReport work_until(std::function<bool()> holds, WorkerOptions options = {}) {
    const auto limit = Clock::now() + std::chrono::seconds(30);
    options.until = [&] { return Clock::now() > limit || holds(); };
    const WorkerReport report = Worker(*store_, *catalogue_, options).run();
    EXPECT_TRUE(holds());
    return report;
  }
  WorkerReport work_until_ended(const RunId& run, WorkerOptions options = {}) {
    return work_until([this, run] { return is_ended(status(run)); }, std::move(options));
  }

  Json output(const RunId& run) {
    return client_->expand_blobs(client_->state(run)->output, shard_of(run, store_->shards()));
  }

  std::int64_t count(const RunId& run, std::string_view type) {
    const Result<std::vector<Event>> events = client_->events(run, 0, 1000);
    return std::count_if(events->begin(), events->end(),
                         [type](const Event& event) { return type_of(event.body) == type; });
  }

  std::string jobs_text(const RunId& run) {
    std::string text;
    for (const HeldJob& held : store_->jobs(run)) {
      text += "branch " + std::to_string(held.job.branch) + " step " + std::to_string(held.job.step) + " in " +
              held.job.queue + " at " + time_text(held.job.run_at_us) + " held by " + std::to_string(held.session) +
              " epoch " + std::to_string(held.epoch) + "\n";
    }
    return text + "now " + time_text(store_->database_time()) + "\n";
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
};

TEST_P(WorkerTest, a_linear_run_is_executed_to_its_end) {
  const RunId run = start("linear", {{"text", "hello"}});
  const WorkerReport report = work_until_ended(run);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(output(run), Json({{"seen", "hello"}, {"text", "hello"}}));
  EXPECT_EQ(count(run, "step_succeeded"), 3);
  EXPECT_EQ(report.steps, 3);
  EXPECT_TRUE(store_->jobs(run).empty());
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
    const std::vector<HeldJob> jobs = store_->jobs(run);
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
    return is_ended(status(run)) && store_->jobs(lacking).at(0).session == 0 && store_->jobs(lacking).at(0).epoch > 1;
  });
  EXPECT_EQ(count(lacking, "step_failed"), 0);
  EXPECT_EQ(store_->jobs(lacking).at(0).job.attempt, 1);
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
    for (const HeldJob& job : store_->jobs(run)) EXPECT_EQ(job.session, 0);
  EXPECT_TRUE(store_->sessions().all().empty());
  work_until(
      [&] { return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); }); });
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

// Gates::commit_locked() decides when a handler has the session's thread, and the handler keeps it until that has
// happened.
class Gates final : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return ForwardingStore::commit_locked(shard, runs, [&](std::vector<LockedRun> locked) {
      is_locked = true;
      wait_for(is_in_handler);
      LockedDecision decision = decide(std::move(locked));
      is_decided = true;
      return decision;
    });
  }
  static bool wait_for(const std::atomic<bool>& gate) {
    const auto limit = Clock::now() + std::chrono::seconds(2);
    while (!gate && Clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return gate;
  }
  std::atomic<bool> is_locked{false};
  std::atomic<bool> is_in_handler{false};
  std::atomic<bool> is_decided{false};
};

// A handler that keeps its thread may itself wait for what the lock holds back.
TEST_P(WorkerTest, A7_a_decision_under_the_lock_waits_for_no_handler) {
  Gates gates(*store_);
  std::atomic<bool> was_decided{false};
  const auto effect = [](const std::string& name, EffectHandler run) {
    return Handler{name, {"ok"}, false, {}, false, 1, std::move(run)};
  };
  catalogue_->handlers.add(effect("t.quick", [](StepInput, Ports&) -> boost::asio::awaitable<StepResult> {
    co_return Outcome{"ok", Json::object(), {}};
  }));
  catalogue_->handlers.add(effect("t.keeps", [&](StepInput, Ports&) -> boost::asio::awaitable<StepResult> {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    for (int waited_ms = 0; !gates.is_locked && waited_ms < 10'000; ++waited_ms) {
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    gates.is_in_handler = true;
    was_decided = Gates::wait_for(gates.is_decided);
    co_return Outcome{"ok", Json::object(), {}};
  }));
  const Result<GraphRef> added = client_->add_graph(Json::parse(R"({"name": "gates", "start": "q",
      "limits": {"steps": 50}, "nodes": {
        "q": {"ask": {"kind": "question", "prompt": "Which?", "schema": {"type": "string"}}, "into": "answer",
              "on": {"answered": ["a", "b"], "expired": "z"}},
        "a": {"do": "t.quick", "on": {"ok": "j"}},
        "b": {"do": "t.keeps", "on": {"ok": "j"}},
        "j": {"do": "t.ok", "join": true, "on": {"ok": "z"}},
        "z": {"end": "done"}}})"));
  ASSERT_TRUE(added) << added.error().message;
  const RunId run = start("gates");
  ASSERT_TRUE(client_->command(run, Answer{"", "north", "", {}}));
  WorkerOptions options;
  options.until = [&, limit = Clock::now() + std::chrono::seconds(30)] {
    return Clock::now() > limit || is_ended(status(run));
  };
  Worker(gates, *catalogue_, options).run();
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_TRUE(was_decided);
}

// Has no memory for what says "too much".
class SmallStore final : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    check(batch);
    return store_.commit(shard, batch, options);
  }
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return store_.commit_locked(shard, runs, [&](std::vector<LockedRun> locked) {
      const LockedDecision decision = decide(std::move(locked));
      check(decision.entries);
      return decision;
    });
  }
  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override {
    check(bytes);
    store_.put_blob(shard, hash, bytes);
  }
  std::atomic<int> refused{0};

 private:
  void check(std::span<const Entry> batch) {
    for (const Entry& entry : batch)
      for (const EventRow& event : entry.events) check(event.payload);
  }
  void check(std::string_view text) {
    if (text.find("too much") == std::string_view::npos) return;
    ++refused;
    throw std::bad_alloc();
  }
};

// It was "trying again" without end, for all that was committed together, and then the end of the worker.
TEST_P(WorkerTest, H24_memory_that_is_used_up_ends_the_attempt_that_asked_for_it_and_harms_no_other_run) {
  SmallStore small(*store_);
  const auto add = [&](const std::string& name, auto run) {
    catalogue_->handlers.add(Handler{"t." + name, {"ok"}, false, {}, false, 1, std::move(run)});
    const Json graph = {{"name", name},
                        {"start", "a"},
                        {"limits", {{"steps", 9}}},
                        {"nodes", {{"a", {{"do", "t." + name}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}}}};
    ASSERT_TRUE(client_->add_graph(graph));
  };
  const auto leaving = [](std::size_t bytes) {
    return EffectHandler([bytes](StepInput, Ports&) -> boost::asio::awaitable<StepResult> {
      co_return Outcome{"ok", {{"text", "too much " + std::string(bytes, 'x')}}, {}};
    });
  };
  add("full_event", leaving(10));
  add("full_value", leaving(100'000));
  add("full_pure", PureHandler([](const StepInput&) -> StepResult { throw std::bad_alloc(); }));
  add("full_effect", EffectHandler([](StepInput, Ports&) -> boost::asio::awaitable<StepResult> {
        throw std::bad_alloc();
        co_return Outcome{};
      }));
  std::vector<RunId> poor, others;
  for (int n = 0; n < 3; ++n) {
    for (const char* graph : {"full_event", "full_value", "full_pure", "full_effect"}) poor.push_back(start(graph));
    for (const char* graph : {"linear", "fan", "call"}) others.push_back(start(graph, {{"text", "x"}}));
  }
  WorkerOptions options;
  const auto have_ended = [&](const std::vector<RunId>& runs) {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); });
  };
  options.until = [&, limit = Clock::now() + std::chrono::seconds(20)] {
    return Clock::now() > limit || (have_ended(poor) && have_ended(others));
  };
  Worker(small, *catalogue_, options).run();
  EXPECT_GT(small.refused, 0);
  for (const RunId& run : others) EXPECT_EQ(status(run), RunStatus::done) << history_text(*client_, run);
  for (const RunId& run : poor) {
    EXPECT_EQ(status(run), RunStatus::failed) << history_text(*client_, run);
    EXPECT_EQ(count(run, "step_failed"), 1);
    EXPECT_NE(history_text(*client_, run).find("is used up"), std::string::npos) << history_text(*client_, run);
  }
}

// Each step composes 1.5 MB of one text of 30 KB, for which there is room once.
TEST_P(WorkerTest, A9_steps_whose_references_compose_much_are_all_executed_in_a_small_room) {
  Json all = Json::array();
  for (int n = 0; n < 50; ++n) all.push_back({{"$", "text"}});
  const Json graph = {
      {"name", "many"},
      {"start", "a"},
      {"limits", {{"steps", 9}}},
      {"nodes", {{"a", {{"do", "t.ok"}, {"with", {{"all", all}}}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}}}};
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
}

// Fails now and then, before or after it has done what was asked.
class FlakyStore final : public test::ForwardingStore {
 public:
  explicit FlakyStore(Store& store) : ForwardingStore(store), graphs_(store.graphs()), sessions_(store.sessions()) {
    graphs_.all = [this] { return often([&] { return store_.graphs().all(); }); };
    sessions_.all = [this] { return often([&] { return store_.sessions().all(); }); };
  }
  std::atomic<bool> is_flaky{false};
  std::atomic<int> failures{0};
  std::atomic<int> histories_read{0};
  std::atomic<std::int64_t> events_read{0};  // by events()

  TimeUs database_time() override {
    return often([&] { return store_.database_time(); });
  }
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return often([&] { return store_.commit(shard, batch, options); });
  }
  ClaimedBatch claim(const ClaimRequest& request) override {
    return often([&] { return store_.claim(request); });
  }
  void release(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) override {
    often([&] { return store_.release(holds, run_at_us), 0; });
  }
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return often([&] {
      std::vector<EventRow> rows = store_.events(id, after_seq, limit);
      events_read += std::ssize(rows);
      return rows;
    });
  }
  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t version, std::int64_t at_most) override {
    return often([&] { return store_.snapshot(id, version, at_most); });
  }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    histories_read += static_cast<int>(requests.size());
    return often([&] { return store_.histories(requests, limit); });
  }
  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override {
    often([&] { return store_.put_blob(shard, hash, bytes), 0; });
  }
  std::optional<std::string> blob(Shard shard, const Hash& hash) override {
    return often([&] { return store_.blob(shard, hash); });
  }
  GraphBook& graphs() override { return graphs_; }
  SessionBook& sessions() override { return sessions_; }

 private:
  template <class Ask>
  std::invoke_result_t<Ask> often(Ask ask) {
    thread_local std::minstd_rand random(7);
    const auto draw = is_flaky ? random() % 10 : 9;
    if (draw < 2) ++failures;
    if (draw == 0) throw StoreUnavailable("the request was lost");
    auto answer = ask();
    if (draw == 1) throw StoreUnavailable("the answer was lost");
    return answer;
  }

  GraphBook graphs_;
  SessionBook sessions_;
};

TEST_P(WorkerTest, a_store_that_fails_now_and_then_loses_and_doubles_nothing) {
  std::vector<RunId> runs;
  for (const char* graph : {"linear", "mixed", "fan", "call", "bulk", "wait", "retry"})
    for (int i = 0; i < 12; ++i) runs.push_back(start(graph, {{"word", "hi"}, {"text", "x"}}));
  FlakyStore flaky(*store_);
  WorkerOptions options;
  options.dead_after_ms = 600;
  options.poll_ms = 20;
  const auto limit = Clock::now() + std::chrono::seconds(60);
  const auto all_ended = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return is_ended(status(run)); });
  };
  options.until = [&] { return Clock::now() > limit || all_ended(); };
  flaky.is_flaky = true;
  Worker(flaky, *catalogue_, options).run();
  EXPECT_GT(flaky.failures, 10);
  for (const RunId& run : runs) {
    EXPECT_EQ(status(run), RunStatus::done) << history_text(*client_, run) << jobs_text(run);
    std::map<StepId, int> closed;
    const Result<std::vector<Event>> events = client_->events(run, 0, 1000);
    for (const Event& event : *events) {
      if (!std::holds_alternative<StepSucceeded>(event.body)) continue;
      EXPECT_EQ(++closed[event.step], 1);
    }
    EXPECT_TRUE(store_->jobs(run).empty());
  }
}

// It was read once for each of the fork's steps, which cost the square of the run's length.
TEST_P(WorkerTest, the_record_that_a_fork_takes_its_answers_from_is_read_once) {
  Json goals = Json::array();
  for (int n = 0; n < 40; ++n)
    goals.push_back({{"id", "g" + std::to_string(n)}, {"tool", "echo"}, {"inputs", {{"n", n}}}});
  const RunId origin = start("map", {{"goals", goals}});
  work_until_ended(origin);
  ForkOptions how;
  how.seq = 1;
  how.recorded = true;
  const Result<Started> fork = client_->fork(origin, how);
  ASSERT_TRUE(fork) << fork.error().message;
  FlakyStore counted(*store_);
  WorkerOptions options;
  options.until = [&] { return is_ended(status(fork->run)); };
  Worker(counted, *catalogue_, options).run();
  EXPECT_EQ(output(fork->run), output(origin));
  EXPECT_EQ(counted.events_read, store_->run(origin)->head);
}

// The origin may still be running: its new events are read when the record has no answer yet.
TEST_P(WorkerTest, a_record_that_grows_is_read_on) {
  const Json goals = {{{"id", "a"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}},
                      {{"id", "b"}, {"tool", "fail"}, {"inputs", {{"message", "no"}}}}};
  const RunId origin = start("map", {{"goals", goals}});
  FlakyStore counted(*store_);
  RecordedAnswersCache records;
  const auto answer = [&](const char* goal, const char* tool, Json inputs) {
    StepInput input;
    input.sub_goal = goal;
    input.tool = tool;
    input.inputs = std::move(inputs);
    return records.answer(counted, {origin, 1}, input, nullptr, catalogue_->handlers, client_->graphs());
  };
  const auto error_of = [](const StepResult& result) { return result ? "" : result.error().error; };
  EXPECT_EQ(error_of(answer("a", "echo", {{"x", 1}})), diverged_error);
  EXPECT_EQ(counted.events_read, 1);
  work_until_ended(origin);
  const StepResult came = answer("a", "echo", {{"x", 1}});
  ASSERT_TRUE(came.ok());
  EXPECT_EQ(came->patch, Json({{"x", 1}}));
  const std::string failed = error_of(answer("b", "fail", {{"message", "no"}}));
  EXPECT_NE(failed, "");
  EXPECT_NE(failed, diverged_error);
  EXPECT_EQ(error_of(answer("a", "echo", {{"x", 2}})), diverged_error);
  EXPECT_EQ(counted.events_read, store_->run(origin)->head);
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

TEST_P(WorkerTest, what_came_with_a_claim_is_not_read) {
  const RunId run = start("linear", {{"text", "x"}});
  FlakyStore counted(*store_);
  WorkerOptions options;
  options.until = [&] { return is_ended(status(run)); };
  Worker(counted, *catalogue_, options).run();
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(counted.histories_read, 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, WorkerTest,
                         ::testing::Values(Variant{"memory", true, 1}, Variant{"memory_4_shards", true, 4},
                                           Variant{"postgres", false, 1}, Variant{"postgres_4_shards", false, 4}),
                         [](const auto& variant) { return variant.param.name; });

// --- client ---------------------------------------------------------------------------------------------------------

class ClientTest : public WorkerTest {};

TEST_P(ClientTest, a_key_used_twice_is_one_run_and_another_input_a_conflict) {
  StartRun command;
  command.graph = "linear";
  command.input = {{"text", "x"}};
  const Result<Started> first = client_->start(command, "k");
  const Result<Started> again = client_->start(command, "k");
  ASSERT_TRUE(first && again);
  EXPECT_FALSE(first->existed);
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(first->run, again->run);
  command.input = {{"text", "y"}};
  const Result<Started> other = client_->start(command, "k");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::conflict);
}

TEST_P(ClientTest, an_unknown_run_is_not_found) {
  const Result<Done> result = client_->command(new_run_id(), Cancel{"x"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_EQ(client_->state(new_run_id()).error().code, Code::not_found);
}

TEST_P(ClientTest, the_state_as_of_a_moment_is_the_fold_up_to_it) {
  const RunId run = start("linear", {{"text", "x"}});
  work_until_ended(run);
  const Result<RunState> then = client_->state(run, 2);
  ASSERT_TRUE(then);
  EXPECT_EQ(then->seq, 2);
  EXPECT_EQ(then->status, RunStatus::running);
  EXPECT_EQ(client_->state(run, 99).error().code, Code::invalid);
  const std::vector<EventRow> rows = store_->events(run, 0, 10);
  EXPECT_EQ(*client_->seq_at(run, rows.back().at_us), rows.back().seq);
  EXPECT_EQ(client_->seq_at(run, rows.front().at_us - 1).error().code, Code::invalid);
}

TEST_P(ClientTest, a_run_that_continues_another_carries_its_turns_on) {
  RunId last{};
  for (const int turn : {1, 2, 3}) {
    StartRun command;
    command.graph = "bulk";
    command.input = {{"parts", {turn}}};
    if (turn > 1) command.continues = last;
    const Result<Started> started = client_->start(command, "");
    ASSERT_TRUE(started) << started.error().message;
    last = started->run;
    if (turn < 3) work_until_ended(last);
  }
  const Json history = read_channel(*client_->state(last), root_branch, "history");
  ASSERT_EQ(history["parts"].size(), 6u);  // of each earlier run: its input, and what t.bulk appends
  EXPECT_EQ(history["parts"][0], 1);
  EXPECT_EQ(history["parts"][3], 2);
  StartRun early;
  early.graph = "linear";
  early.continues = last;
  EXPECT_EQ(client_->start(early, "").error().code, Code::conflict);
}

INSTANTIATE_TEST_SUITE_P(Stores, ClientTest,
                         ::testing::Values(Variant{"memory", true, 1}, Variant{"postgres", false, 1}),
                         [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace cairn
