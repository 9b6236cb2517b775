// Workers on stores that hold a lock, are short of memory, fail now and then, or count what is read of them. The stores
// below them are those of worker_test.cpp.
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

#include "tests/storage/forwarding_store.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/runtime/worker_trial.hpp"
#include "workers/runs/recorded_answers.hpp"
#include "workers/session/crowd.hpp"

namespace cairn::test {
namespace {

using Clock = std::chrono::steady_clock;

// Gates::commit_locked() decides when a handler has the session's thread, and the handler keeps it until that has
// happened.
class Gates final : public ForwardingStore {
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
class SmallStore final : public ForwardingStore {
 public:
  explicit SmallStore(Store& store) : ForwardingStore(store), values_(store.values()) {
    values_.put = [this](Shard shard, const Hash& hash, std::string_view bytes) {
      check(bytes);
      store_.values().put(shard, hash, bytes);
    };
  }
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
  ValueBook& values() override { return values_; }
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

  ValueBook values_;
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

// Fails now and then, before or after it has done what was asked.
class FlakyStore final : public ForwardingStore {
 public:
  explicit FlakyStore(Store& store)
      : ForwardingStore(store),
        jobs_(store.jobs()),
        snapshots_(store.snapshots()),
        values_(store.values()),
        graphs_(store.graphs()),
        sessions_(store.sessions()) {
    graphs_.all = [this] { return often([&] { return store_.graphs().all(); }); };
    sessions_.all = [this] { return often([&] { return store_.sessions().all(); }); };
    jobs_.release = [this](std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) {
      return often([&] { return store_.jobs().release(holds, run_at_us); });
    };
    snapshots_.newest = [this](const RunId& run, std::int32_t version, std::int64_t at_most) {
      return often([&] { return store_.snapshots().newest(run, version, at_most); });
    };
    values_.put = [this](Shard shard, const Hash& hash, std::string_view bytes) {
      often([&] { return store_.values().put(shard, hash, bytes), 0; });
    };
    values_.get = [this](Shard shard, const Hash& hash) {
      return often([&] { return store_.values().get(shard, hash); });
    };
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
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return often([&] {
      std::vector<EventRow> rows = store_.events(id, after_seq, limit);
      events_read += std::ssize(rows);
      return rows;
    });
  }
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    histories_read += static_cast<int>(requests.size());
    return often([&] { return store_.histories(requests, limit); });
  }
  JobBook& jobs() override { return jobs_; }
  SnapshotBook& snapshots() override { return snapshots_; }
  ValueBook& values() override { return values_; }
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

  JobBook jobs_;
  SnapshotBook snapshots_;
  ValueBook values_;
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
    EXPECT_TRUE(store_->jobs().of(run).empty());
  }
}

constexpr SessionId crowd_size = 300;

void open_crowd(Store& store) {
  for (SessionId id = 1; id <= crowd_size; ++id) {
    SessionRow row;
    row.id = id;
    row.host = "elsewhere";
    row.queues = {"default"};
    store.sessions().open(row);
  }
}

TEST_P(WorkerTest, one_of_a_large_crowd_waits_for_other_processes_in_its_turn_alone) {
  open_crowd(*store_);
  ListenedStore store(*store_);
  WorkerOptions options;
  options.queues = {"default"};
  Worker worker(store, *catalogue_, options);
  std::thread working([&] { worker.run(); });
  const auto is_due = [&] {
    const std::vector<SessionRow> all = store_->sessions().all();
    const auto own = std::find_if(all.begin(), all.end(), [](const SessionRow& row) { return row.id > crowd_size; });
    if (own == all.end()) return true;
    Crowd crowd(own->id);
    const TimeUs now_us = store_->database_time();
    crowd.seen(all, {"default"}, now_us, session_silence_ms * 1'000);
    return crowd.is_listener(now_us);
  };
  EXPECT_TRUE(
      wait_until([&] { return store.last == (is_due() ? NotifiedBy::any_process : NotifiedBy::this_process); }));
  worker.stop();
  working.join();
}

TEST_P(WorkerTest, a_worker_of_its_own_runs_waits_for_other_processes_however_large_the_crowd) {
  open_crowd(*store_);
  ListenedStore store(*store_);
  WorkerOptions options;
  const RunId run = start("ask");
  options.only_runs = {run};
  const auto limit = Clock::now() + std::chrono::seconds(3);
  options.until = [&] { return Clock::now() > limit; };
  Worker(store, *catalogue_, options).run();
  EXPECT_EQ(store.last, NotifiedBy::any_process);
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

TEST_P(WorkerTest, what_came_with_a_claim_is_not_read) {
  const RunId run = start("linear", {{"text", "x"}});
  FlakyStore counted(*store_);
  WorkerOptions options;
  options.until = [&] { return is_ended(status(run)); };
  Worker(counted, *catalogue_, options).run();
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_EQ(counted.histories_read, 0);
}

}  // namespace
}  // namespace cairn::test
