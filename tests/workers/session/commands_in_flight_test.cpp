// Commands while steps are in flight, with real workers: lapses, children across cancel, pause and retry, graph
// versions in mixed workers, values at the edges of what is kept inline and of what is kept at all.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>

#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/handlers/large_values.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

using namespace test;
using Clock = std::chrono::steady_clock;

class InFlight : public ::testing::TestWithParam<const char*> {
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
    client_ = client_with_graphs(*store_, *catalogue_);
  }
  void TearDown() override { stop(); }

  void add(const std::string& text) {
    const Result<GraphRef> added = client_->add_graph(Json::parse(text));
    ASSERT_TRUE(added) << added.error().message;
  }
  RunId start(const std::string& graph, Json input = Json::object()) {
    StartRun command;
    command.graph = graph;
    command.input = std::move(input);
    const Result<Started> started = client_->start(std::move(command), "");
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    return started ? started->run : RunId{};
  }
  // One more worker in a thread of its own.
  void work(Catalogue& catalogue) {
    WorkerOptions options;
    options.dead_after_ms = 2'000;
    options.poll_ms = 50;
    workers_.push_back(std::make_unique<Worker>(*store_, catalogue, options));
    threads_.emplace_back([worker = workers_.back().get()] { worker->run(); });
  }
  void stop() {
    for (const auto& worker : workers_) worker->stop();
    for (std::thread& thread : threads_) thread.join();
    workers_.clear();
    threads_.clear();
  }
  bool wait_until(const std::function<bool()>& holds) {
    for (const auto limit = Clock::now() + std::chrono::seconds(30); Clock::now() < limit;) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    return holds();
  }
  RunStatus status(const RunId& run) { return store_->run(run)->status; }
  bool has_ended(const RunId& run) { return is_ended(status(run)); }
  std::int64_t count(const RunId& run, std::string_view type) {
    const Result<std::vector<Event>> events = client_->events(run, 0, 1'000);
    return std::count_if(events->begin(), events->end(),
                         [type](const Event& event) { return type_of(event.body) == type; });
  }
  bool is_held(const RunId& run) {
    const std::vector<HeldJob> jobs = store_->jobs().of(run);
    return !jobs.empty() && jobs[0].session != 0;
  }
  std::vector<RunId> children_of(const RunId& run) {
    std::vector<RunId> found;
    const Result<std::vector<Event>> events = client_->events(run, 0, 1'000);
    for (const Event& event : *events)
      if (const auto* started = std::get_if<ChildStarted>(&event.body)) found.push_back(started->child);
    return found;
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Catalogue> fuller_;  // of some tests: workers read it until they have stopped
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

TEST_P(InFlight, a_step_that_lapses_is_lost_although_its_worker_lives) {
  const RunId run = start("linear", {{"text", "x"}});
  store_->sessions().open({.id = 77, .host = "slow", .pid = 1, .queues = {"default"}});
  ClaimRequest request;
  request.shard = shard_of(run, store_->shards());
  request.queues = {"default"};
  request.session = 77;
  request.default_timeout_ms = 1;
  request.now_us = store_->database_time() + 100'000;  // past when the job was offered
  ASSERT_EQ(store_->claim(request).jobs.size(), 1u);
  // Its deadline comes with the grace only: five seconds from now.
  std::atomic<bool> over{false};
  std::thread beating([&] {
    while (!over) {
      store_->sessions().beat(77);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  work(*catalogue_);
  EXPECT_TRUE(wait_until([&] { return has_ended(run); }));
  over = true;
  beating.join();
  EXPECT_EQ(status(run), RunStatus::done);
  ASSERT_EQ(count(run, "step_failed"), 1);
  const Result<std::vector<Event>> events = client_->events(run, 0, 10);
  EXPECT_EQ(std::get<StepFailed>((*events)[1].body).error, "lost");
  EXPECT_EQ(store_->sessions().all().size(), 2u) << "the other session is not buried for it";
}

TEST_P(InFlight, cancelling_descends_level_by_level_and_every_child_is_in_its_parents_shard) {
  add(R"({"name":"inner","start":"s","limits":{"steps":9},"nodes":{
      "s":{"do":"t.hang","on":{"ok":"z"}},"z":{"end":"done"}}})");
  add(R"({"name":"middle","start":"c","limits":{"steps":9},"nodes":{
      "c":{"call":"inner","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  add(R"({"name":"outer","start":"c","limits":{"steps":9},"nodes":{
      "c":{"call":"middle","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  const RunId outer = start("outer");
  const RunId middle = children_of(outer).at(0), inner = children_of(middle).at(0);
  for (const RunId& child : {middle, inner})
    EXPECT_EQ(shard_of(child, store_->shards()), shard_of(outer, store_->shards()));
  work(*catalogue_);
  ASSERT_TRUE(wait_until([&] { return is_held(inner); }));
  ASSERT_TRUE(client_->command(outer, Cancel{"enough"}));
  OrphanMark mark;
  EXPECT_EQ(store_->all_runs().orphans(mark, 10), std::vector<RunId>{middle}) << "one level a commit";
  EXPECT_TRUE(wait_until([&] { return has_ended(middle) && has_ended(inner); }));
  for (const RunId& run : {outer, middle, inner}) EXPECT_EQ(status(run), RunStatus::aborted);
  EXPECT_TRUE(store_->all_runs().orphans(mark, 10).empty());
}

// As a release that commits the end of a called run alone when it cannot read its caller.
class OlderRelease final : public ForwardingStore {
 public:
  explicit OlderRelease(Store& store) : ForwardingStore(store), all_runs_(store.all_runs()) {
    all_runs_.loose_ends = [](const RunId&, std::int32_t) { return std::vector<LooseEnd>(); };
  }
  RunBook& all_runs() override { return all_runs_; }
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    std::vector<Verdict> verdicts;
    for (Entry entry : batch) {
      const bool is_caller = entry.link != 0 && !entry.run.parent;
      if (is_caller && entry.head_before > 0) {
        verdicts.emplace_back().head = entry.events.back().seq;
        continue;
      }
      entry.link = 0;
      entry.caller_knows = false;
      verdicts.push_back(ForwardingStore::commit(shard, {&entry, 1}, options).front());
    }
    return verdicts;
  }

 private:
  RunBook all_runs_;
};

// A3: nothing ever repaired it.
TEST_P(InFlight, A3_a_call_whose_run_has_ended_without_it_is_finished_by_the_sweep) {
  const RunId run = start("call", {{"word", "hi"}});
  const RunId child = children_of(run).at(0);
  OlderRelease older(*store_);
  {
    Worker worker(older, *catalogue_, {});
    std::thread thread([&] { worker.run(); });
    EXPECT_TRUE(wait_until([&] { return has_ended(child); }));
    worker.stop();
    thread.join();
  }
  ASSERT_EQ(status(run), RunStatus::running);
  EXPECT_EQ(store_->all_runs().loose_ends({}, 10), (std::vector<LooseEnd>{{child, true}}));
  work(*catalogue_);
  EXPECT_TRUE(wait_until([&] { return has_ended(run); }));
  EXPECT_TRUE(wait_until([&] { return store_->all_runs().loose_ends({}, 10).empty(); }));
  EXPECT_EQ(count(run, "child_finished"), 1);
}

TEST_P(InFlight, a_run_paused_with_a_step_in_flight_records_it_and_begins_nothing_until_it_is_resumed) {
  const Json goals = {{{"id", "a"}, {"tool", "sleep"}, {"inputs", {{"ms", 300}}}},
                      {{"id", "b"}, {"tool", "echo"}, {"inputs", {{"x", 1}}}, {"after", {"a"}}}};
  const RunId run = start("map", {{"goals", goals}});
  work(*catalogue_);
  ASSERT_TRUE(wait_until([&] { return count(run, "sub_goal_opened") == 2 && is_held(run); }));
  ASSERT_TRUE(client_->command(run, Pause{}));
  EXPECT_TRUE(is_held(run)) << "held rows keep their hold";
  ASSERT_TRUE(wait_until([&] { return count(run, "sub_goal_closed") == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(count(run, "sub_goal_closed"), 1);
  ASSERT_EQ(store_->jobs().of(run).size(), 1u);
  EXPECT_EQ(store_->jobs().of(run)[0].session, 0);
  EXPECT_EQ(store_->jobs().of(run)[0].job.run_at_us, never_us);
  ASSERT_TRUE(client_->command(run, Resume{}));
  EXPECT_TRUE(wait_until([&] { return has_ended(run); }));
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_P(InFlight, a_failed_run_is_tried_again_where_it_failed) {
  add(R"({"name":"flaky","start":"a","limits":{"steps":9},"nodes":{
      "a":{"do":"t.ok","on":{"ok":"r"}},
      "r":{"do":"t.fail","with":{"until":"$until"},"retry":{"attempts":2},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  const RunId run = start("flaky", {{"until", 3}});
  work(*catalogue_);
  ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
  EXPECT_EQ(status(run), RunStatus::failed);
  for (int n = 0; n < 2; ++n) {
    ASSERT_TRUE(client_->command(run, Reopen{}));
    ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
    EXPECT_EQ(status(run), RunStatus::failed) << "attempts are counted from 1 again";
  }
  EXPECT_EQ(count(run, "step_succeeded"), 1) << "what succeeded is not done again";
  EXPECT_EQ(count(run, "step_failed"), 6);
}

// The run that it had called before went on next to the new one.
TEST_P(InFlight, a_failed_run_that_is_tried_again_at_once_leaves_no_child_of_before_behind) {
  add(R"({"name":"asking","start":"q","limits":{"steps":9},"nodes":{
      "q":{"ask":{"prompt":"?"},"on":{"answered":"z","expired":"z"}},"z":{"end":"done"}}})");
  add(R"({"name":"calling","start":"a","limits":{"steps":9},"nodes":{
      "a":{"do":"t.ok","on":{"ok":["c","w"]}},"w":{"wait":{"ms":100},"on":{"fired":"r"}},
      "c":{"call":"asking","on":{"done":"z","failed":"z"}},
      "r":{"do":"t.fail","with":{"until":99},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  const RunId run = start("calling");
  {
    work(*catalogue_);
    ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
    stop();  // so that no worker sweeps
  }
  const RunId before = children_of(run).at(0);
  ASSERT_FALSE(has_ended(before));
  ASSERT_TRUE(client_->command(run, Reopen{}));
  EXPECT_EQ(status(before), RunStatus::aborted);
  EXPECT_EQ(status(run), RunStatus::running);
}

TEST_P(InFlight, runs_of_two_graph_versions_go_on_in_workers_of_which_one_lacks_a_handler) {
  fuller_ = small_catalogue();
  fuller_->handlers.add({.name = "t.new",
                         .labels = {"ok"},
                         .labels_from_node = false,
                         .reads = {},
                         .reads_plan = false,
                         .version = 1,
                         .run = PureHandler([](const StepInput&) {
                           return StepResult(Outcome{"ok", {{"new", true}}, {}});
                         })});
  const auto versioned = [](const char* handler) {
    return std::string(R"({"name":"versioned","start":"w","limits":{"steps":9},"nodes":{"w":{"wait":{"ms":50},"on":{
      "fired":"a"}},"a":{"do":")") +
           handler + R"(","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";
  };
  add(versioned("t.ok"));
  const RunId old_run = start("versioned");
  add(versioned("t.new"));
  const RunId new_run = start("versioned");
  work(*catalogue_);
  ASSERT_TRUE(wait_until([&] { return has_ended(old_run); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(has_ended(new_run)) << "nobody has the handler";
  work(*fuller_);
  EXPECT_TRUE(wait_until([&] { return has_ended(new_run); }));
  EXPECT_EQ(count(new_run, "step_failed"), 0) << "giving back is no attempt";
  EXPECT_NE(store_->run(old_run)->version, store_->run(new_run)->version);
  EXPECT_EQ(client_->state(old_run)->output, Json::object());
  EXPECT_EQ(client_->state(new_run)->output, Json({{"new", true}}));
}

// A running worker knew the names of five seconds ago: the run failed for good, with not_found.
TEST_P(InFlight, a_graph_that_calls_one_which_was_just_added_is_executed_by_a_worker_that_runs_already) {
  work(*catalogue_);
  const RunId first = start("linear", {{"text", "x"}});
  ASSERT_TRUE(wait_until([&] { return has_ended(first); })) << "the worker has opened";
  add(R"({"name":"fresh_child","start":"a","limits":{"steps":9},"nodes":{
      "a":{"do":"t.ok","on":{"ok":"z"}},"z":{"end":"done"}}})");
  add(R"({"name":"fresh_parent","start":"a","limits":{"steps":9},"nodes":{"a":{"do":"t.ok","on":{"ok":"c"}},
      "c":{"call":"fresh_child","on":{"done":"z","failed":"y"}},"y":{"end":"failed"},"z":{"end":"done"}}})");
  work(*catalogue_);  // takes steps as well
  const RunId run = start("fresh_parent");
  ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
  EXPECT_EQ(status(run), RunStatus::done);
}

// The worker that runs already called the version before, and the other one the new version.
TEST_P(InFlight, a_map_of_a_new_graph_calls_one_version_whichever_worker_opens_its_items) {
  const auto child = [this](int steps) {
    add(R"({"name":"item_child","start":"a","limits":{"steps":)" + std::to_string(steps) + R"(},"nodes":{
        "a":{"do":"t.ok","on":{"ok":"z"}},"z":{"end":"done"}}})");
  };
  child(8);
  work(*catalogue_);
  const RunId first = start("linear", {{"text", "x"}});
  ASSERT_TRUE(wait_until([&] { return has_ended(first); })) << "the worker has opened";
  child(9);
  add(R"({"name":"item_parent","start":"a","limits":{"steps":99},"nodes":{"a":{"do":"t.ok","on":{"ok":"m"}},
      "m":{"map":{"over":"$items","call":"item_child","concurrency":1,"into":"results"},
           "on":{"joined":"z","partial":"y","error":"y"}},"y":{"end":"failed"},"z":{"end":"done"}}})");
  work(*catalogue_);
  const RunId run = start("item_parent", {{"items", {1, 2, 3, 4, 5, 6, 7, 8}}});
  ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
  EXPECT_EQ(status(run), RunStatus::done);
  std::set<std::string> versions;
  for (const RunId& item : children_of(run)) versions.insert(store_->run(item)->version);
  EXPECT_EQ(versions.size(), 1u);
}

TEST_P(InFlight, a_value_of_32_kib_is_kept_inline_and_one_byte_more_is_not) {
  add(R"({"name":"sized","start":"b","limits":{"steps":9},"nodes":{
      "b":{"do":"t.bulk","with":{"bytes":"$bytes"},"on":{"ok":"z"}},"z":{"end":{"status":"done","output":{}}}}})");
  work(*catalogue_);
  for (const std::size_t over : {std::size_t{0}, std::size_t{1}}) {
    const RunId run = start("sized", {{"bytes", inline_bytes_max - 2 + over}});  // two for its quotes
    ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
    EXPECT_EQ(read_channel(*client_->state(run), root_branch, "bulk").is_object(), over == 1);
  }
}

TEST_P(InFlight, a_value_of_16_mib_is_kept_and_one_byte_more_fails_the_attempt) {
  add(R"({"name":"big","start":"b","limits":{"steps":9},"channels":{"parts":{"reducer":"append"}},"nodes":{
      "b":{"do":"t.bulk","with":{"bytes":"$bytes"},"on":{"ok":"m","error":"y"}},
      "m":{"do":"t.measure","on":{"ok":"z"}},"y":{"end":{"status":"failed","output":{}}},
      "z":{"end":{"status":"done","output":{"bytes":{"$": "bytes", "default": null}}}}}})");
  work(*catalogue_);
  for (const bool fits : {true, false}) {
    const std::size_t bytes = json_bytes_max - (fits ? 2 : 1);
    const RunId run = start("big", {{"bytes", bytes}});
    ASSERT_TRUE(wait_until([&] { return has_ended(run); }));
    EXPECT_EQ(status(run), fits ? RunStatus::done : RunStatus::failed);
    if (fits) {
      EXPECT_EQ(client_->state(run)->output, Json({{"bytes", bytes}}));
      continue;
    }
    const Result<std::vector<Event>> events = client_->events(run, 0, 10);
    EXPECT_EQ(std::get<StepFailed>((*events)[1].body).error, "limit");
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, InFlight, ::testing::Values("memory", "postgres"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace cairn
