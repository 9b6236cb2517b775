// Limits and pauses of queues, held across several real workers on one store.
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "storage/commit_rules.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;
namespace asio = boost::asio;

// How many steps run at this moment, and the most that ever did.
struct Gauge {
  std::atomic<int> now{0}, most{0}, steps{0};
  void enter() {
    const int count = ++now;
    ++steps;
    for (int seen = most; count > seen && !most.compare_exchange_weak(seen, count);) {
    }
  }
  void leave() { --now; }
};

// In the queue `narrow`: a step, three branches that are pure, effect and pure, two steps in a row after the join.
const char* narrow_graph = R"({"name": "narrow", "start": "a", "limits": {"steps": 50}, "nodes": {
    "a": {"do": "t.slow", "queue": "narrow", "on": {"ok": "open"}},
    "open": {"do": "t.ok", "on": {"ok": ["b", "c", "d"]}},
    "b": {"do": "t.slow_pure", "queue": "narrow", "on": {"ok": "j"}},
    "c": {"do": "t.slow", "queue": "narrow", "on": {"ok": "j"}},
    "d": {"do": "t.slow_pure", "queue": "narrow", "on": {"ok": "j"}},
    "j": {"do": "t.slow_pure", "queue": "narrow", "join": true, "on": {"ok": "k"}},
    "k": {"do": "t.slow_pure", "queue": "narrow", "on": {"ok": "z"}}, "z": {"end": "done"}}})";
const char* long_graph = R"({"name": "long", "start": "a", "limits": {"steps": 100000}, "nodes": {
    "a": {"do": "t.slow", "labels": ["ok", "never"], "queue": "narrow", "on": {"ok": "a", "never": "z"}},
    "z": {"end": "done"}}})";

class LimitedQueues : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "memory") {
      store_ = make_memory_store(4);
    } else {
      PostgresOptions options;
      options.dsn = new_database(4);
      store_ = std::move(*open_postgres_store(options));
    }
    catalogue_ = small_catalogue();
    const auto add = [this](const char* name, std::variant<PureHandler, EffectHandler> run) {
      catalogue_->handlers.add({.name = name,
                                .labels = {"ok"},
                                .labels_from_node = std::string_view(name) == "t.slow",
                                .reads = {},
                                .reads_plan = false,
                                .version = 1,
                                .run = std::move(run)});
    };
    add("t.slow", EffectHandler([this](StepInput, Ports&) { return slow(); }));
    add("t.slow_pure", PureHandler([this](const StepInput&) {
          gauge_.enter();
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          gauge_.leave();
          return StepResult(Outcome{"ok", Json::object(), {}});
        }));
    client_ = client_with_graphs(*store_, *catalogue_);
    for (const char* text : {narrow_graph, long_graph}) {
      Json graph = Json::parse(text);
      for (Json& node : graph["nodes"])
        if (node.value("do", "") == "t.slow" && !node.contains("labels")) node["labels"] = {"ok"};
      const Result<GraphRef> added = client_->add_graph(graph);
      ASSERT_TRUE(added) << added.error().message;
    }
  }

  asio::awaitable<StepResult> slow() {
    gauge_.enter();
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(3));
    co_await timer.async_wait(asio::use_awaitable);
    gauge_.leave();
    co_return Outcome{"ok", Json::object(), {}};
  }

  std::vector<RunId> start(const std::string& graph, int count) {
    std::vector<RunId> runs;
    for (int n = 0; n < count; ++n) {
      StartRun command;
      command.graph = graph;
      runs.push_back(client_->start(std::move(command), "")->run);
    }
    return runs;
  }

  // Three workers, until the condition holds.
  void work_until(const std::function<bool()>& holds) {
    const auto limit = Clock::now() + std::chrono::seconds(60);
    std::atomic<bool> over{false};
    WorkerOptions options;
    options.concurrency = 16;
    options.dead_after_ms = 1'000;
    options.until = [&] { return over.load(); };
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) threads.emplace_back([&] { Worker(*store_, *catalogue_, options).run(); });
    while (!holds() && Clock::now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(holds());
    over = true;
    for (std::thread& thread : threads) thread.join();
  }

  bool all_ended(const std::vector<RunId>& runs) {
    return std::all_of(runs.begin(), runs.end(),
                       [this](const RunId& run) { return is_ended(store_->run(run)->status); });
  }

  Gauge gauge_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
};

TEST_P(LimitedQueues, no_more_steps_run_at_once_than_the_queue_allows) {
  ASSERT_TRUE(set_limits(*store_, {.name = "narrow", .concurrency = 2}));
  const std::vector<RunId> runs = start("narrow", 20);
  work_until([&] { return all_ended(runs); });
  EXPECT_LE(gauge_.most, 2);
  EXPECT_EQ(gauge_.steps, 20 * 6);
}

TEST_P(LimitedQueues, without_a_limit_more_run_at_once) {
  const std::vector<RunId> runs = start("narrow", 20);
  work_until([&] { return all_ended(runs); });
  EXPECT_GT(gauge_.most, 2);
}

// The place of an ended step was found free by the next poll only, twice a second.
TEST_P(LimitedQueues, an_ended_step_makes_room_at_once) {
  ASSERT_TRUE(set_limits(*store_, {.name = "narrow", .concurrency = 1}));
  const std::vector<RunId> runs = start("narrow", 3);
  const auto began = Clock::now();
  work_until([&] { return all_ended(runs); });
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(5)) << "18 steps of 3 ms, one after the other";
}

// A step went through the table each time, at half the throughput; one that keeps its place for good starves the
// others.
TEST_P(LimitedQueues, a_run_goes_on_in_its_place_for_a_while_and_then_the_next_has_its_turn) {
  ASSERT_TRUE(set_limits(*store_, {.name = "narrow", .concurrency = 1}));
  const std::vector<RunId> runs = start("long", 3);
  work_until([&] {
    return std::all_of(runs.begin(), runs.end(), [this](const RunId& run) { return store_->run(run)->head > 40; });
  });
  EXPECT_EQ(gauge_.most, 1);
  for (const RunId& run : runs) EXPECT_LT(store_->run(run)->head, 1'000) << "a turn has at most 83 steps of 3 ms";
  const std::vector<HeldJob> jobs = store_->jobs().of(runs[0]);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_LT(jobs[0].epoch - first_epoch(1), store_->run(runs[0])->head / 4) << "one more with each claim";
}

// With a concurrency it gave its place up four times a second, with keys or an ageing after each step.
TEST_P(LimitedQueues, while_nobody_waits_for_a_place_or_a_turn_a_run_goes_on) {
  for (const QueueLimits& limits : {QueueLimits{.name = "narrow", .concurrency = 100},
                                    QueueLimits{.name = "narrow", .key = "tag.customer", .key_concurrency = 50},
                                    QueueLimits{.name = "narrow", .ageing_us = 60'000'000},
                                    QueueLimits{.name = "narrow",
                                    .budgets = {{BudgetUnit::tokens, BudgetWindow::month, 1'000}},
                                    .reserves = {{BudgetUnit::tokens, 10}}}}) {
    SCOPED_TRACE(limits_text(limits));
    ASSERT_TRUE(set_limits(*store_, limits));
    const auto began = Clock::now();
    const std::vector<RunId> runs = start("long", 3);
    const std::int64_t steps = limits.concurrency ? 250 : 60;
    work_until([&] {
      return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return store_->run(run)->head > steps; });
    });
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began).count();
    for (const RunId& run : runs) {
      const std::vector<HeldJob> jobs = store_->jobs().of(run);
      ASSERT_EQ(jobs.size(), 1u);
      EXPECT_LE(jobs[0].epoch - first_epoch(1), limits.key_concurrency ? 12 + 5 * seconds : 4 + 2 * seconds)
          << "in each turn it was offered and claimed";
      ASSERT_TRUE(client_->command(run, Cancel{.reason = "it has run long enough"}));
    }
  }
}

TEST_P(LimitedQueues, a_run_that_goes_on_keeps_no_other_of_its_key_out_of_its_place_in_any_shard) {
  ASSERT_TRUE(set_limits(*store_, {.name = "narrow", .key = "tag.customer", .key_concurrency = 1}));
  const std::vector<RunId> runs = start("long", 6);
  work_until([&] {
    return std::all_of(runs.begin(), runs.end(), [&](const RunId& run) { return store_->run(run)->head > 12; });
  });
  EXPECT_EQ(gauge_.most, 1);
  for (const RunId& run : runs) ASSERT_TRUE(client_->command(run, Cancel{.reason = "it has run long enough"}));
}

TEST_P(LimitedQueues, a_paused_queue_stands_still_and_goes_on) {
  start("long", 5);
  int at_pause = 0, later = 0;
  bool paused = false, resumed = false;
  Clock::time_point since;
  work_until([&] {
    const auto now = Clock::now();
    if (!paused && gauge_.steps > 50) {
      paused = static_cast<bool>(set_limits(*store_, {.name = "narrow", .paused = true}));
      since = now;
    } else if (paused && !resumed && at_pause == 0 && now - since > std::chrono::seconds(2)) {
      at_pause = gauge_.steps;
    } else if (at_pause > 0 && !resumed && now - since > std::chrono::seconds(3)) {
      later = gauge_.steps;
      resumed = static_cast<bool>(set_limits(*store_, {.name = "narrow"}));
      store_->notify();
    }
    return resumed && gauge_.steps > later;
  });
  EXPECT_EQ(at_pause, later);
}

INSTANTIATE_TEST_SUITE_P(Stores, LimitedQueues, ::testing::Values("memory", "postgres"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace cairn
