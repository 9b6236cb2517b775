// The counters of a process: bounded label sets, what events add, and the store that counts.
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "engine/codec.hpp"
#include "ops/metrics/counted_events.hpp"
#include "ops/metrics/counting_store.hpp"
#include "ops/metrics/exposition.hpp"
#include "storage/forwarding_store.hpp"
#include "storage/memory/memory_store.hpp"

namespace cairn {
namespace {

// --- label sets -----------------------------------------------------------------------------------------------------

std::map<std::string, std::uint64_t> counted(const BoundedSeries<Count, 1>& series) {
  std::map<std::string, std::uint64_t> found;
  series.each([&](const auto& labels, const Count& count) { found[labels[0]] = count.value(); });
  return found;
}

TEST(MetricLabels, beyond_the_bound_count_as_other) {
  BoundedSeries<Count, 1> series(2);
  for (const char* name : {"a", "b", "c", "a", "d"}) series.of({name}).add();
  EXPECT_EQ(counted(series), (std::map<std::string, std::uint64_t>{{"a", 2}, {"b", 1}, {"other", 2}}));
}

TEST(MetricLabels, that_are_long_count_as_other_and_leave_their_place_to_others) {
  BoundedSeries<Count, 1> series(1);
  series.of({std::string(label_bytes_max + 1, 'x')}).add();
  series.of({std::string(label_bytes_max, 'y')}).add();
  EXPECT_EQ(counted(series), (std::map<std::string, std::uint64_t>{{std::string(200, 'y'), 1}, {"other", 1}}));
}

TEST(MetricLabels, that_are_named_other_are_counted_with_the_others) {
  BoundedSeries<Count, 1> series(1);
  for (const char* name : {"other", "a", "b"}) series.of({name}).add();
  int samples = 0;
  series.each([&](const auto&, const Count&) { ++samples; });
  EXPECT_EQ(samples, 2);
  EXPECT_EQ(counted(series), (std::map<std::string, std::uint64_t>{{"a", 1}, {"other", 2}}));
  BoundedSeries<Count, 2> pairs(2);
  pairs.of({"other", "node"}).add();
  pairs.each([&](const auto& labels, const Count&) { EXPECT_EQ(labels[1], "node"); });
}

TEST(MetricLabels, of_the_same_letters_are_two) {
  BoundedSeries<Count, 2> series(10);
  series.of({"ab", "c"}).add();
  series.of({"a", "bc"}).add(5);
  std::set<std::uint64_t> values;
  series.each([&](const auto&, const Count& count) { values.insert(count.value()); });
  EXPECT_EQ(values, (std::set<std::uint64_t>{1, 5}));
}

TEST(MetricLabels, threads_that_add_the_same_labels_lose_no_count) {
  constexpr int threads = 4;
  constexpr int names = 60;  // a third of them beyond the bound
  constexpr int rounds = 2'000;
  BoundedSeries<Count, 1> series(40);
  std::vector<std::thread> working;
  for (int n = 0; n < threads; ++n)
    working.emplace_back([&series, n] {
      for (int round = 0; round < rounds; ++round)
        for (int name = 0; name < names; ++name) series.of({std::to_string((name + n * 15) % names)}).add();
    });
  for (std::thread& one : working) one.join();
  const auto found = counted(series);
  EXPECT_EQ(found.size(), 41u);
  std::uint64_t sum = 0;
  for (const auto& [name, count] : found) {
    sum += count;
    EXPECT_TRUE(name == "other" || count == threads * rounds) << name << " " << count;
  }
  EXPECT_EQ(sum, std::uint64_t{threads} * names * rounds);
}

TEST(MetricDistribution, a_value_at_a_bound_is_in_the_range_that_ends_there) {
  Distribution<batch_sizes> sizes;
  for (const double size : {1.0, 1.5, 2.0, 501.0}) sizes.add(size);
  EXPECT_EQ(sizes.count(0), 1u);
  EXPECT_EQ(sizes.count(1), 2u);
  EXPECT_EQ(sizes.count(batch_sizes.size()), 1u);
  EXPECT_DOUBLE_EQ(sizes.sum(), 505.5);
}

// --- events ---------------------------------------------------------------------------------------------------------

constexpr TimeUs start_us = 1'795'299'827'000'000;

EventRow row_of(const EventBody& body, TimeUs at_us = start_us + 3'000'000) {
  const EventType type = event_type(body);
  EventRow row;
  row.at_us = at_us;
  row.type = type.number;
  row.version = type.version;
  row.payload = encode_payload(body);
  return row;
}

Entry entry_of(std::vector<EventRow> events, const std::string& graph = "g") {
  Entry entry;
  entry.run.graph = graph;
  entry.run.started_at = start_us;
  entry.events = std::move(events);
  return entry;
}

StepSucceeded success(const std::string& node) {
  StepSucceeded step;
  step.node = node;
  step.label = "ok";
  step.attempt = 1;
  step.started_at = start_us + 1'000'000;
  return step;
}

std::string text_after(const std::vector<EventRow>& events) {
  WorkCounts counts;
  count_events(counts, entry_of(events));
  return work_metrics_text(counts);
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << text;
}

TEST(CountedEvents, attempts_of_steps_by_how_they_ended) {
  StepSucceeded reused = success("plan");
  reused.cached_from = 3;
  StepFailed retried;
  retried.node = "plan";
  retried.error = "timeout";
  retried.started_at = start_us;
  retried.retry_at = start_us + 1;
  StepFailed failed = retried;
  failed.retry_at.reset();
  StepFailed lost = retried;
  lost.error = lost_error;
  const std::string text = text_after({row_of(success("plan")), row_of(success("quo\"te")), row_of(reused),
                                       row_of(retried), row_of(failed), row_of(failed), row_of(lost)});
  expect_lines(text, {R"(cairn_steps_total{graph="g",node="plan",outcome="succeeded"} 1)",
                      R"(cairn_steps_total{graph="g",node="plan",outcome="reused"} 1)",
                      R"(cairn_steps_total{graph="g",node="plan",outcome="retried"} 1)",
                      R"(cairn_steps_total{graph="g",node="plan",outcome="failed"} 2)",
                      R"(cairn_steps_total{graph="g",node="plan",outcome="lost"} 1)",
                      R"(cairn_steps_total{graph="g",node="quo\"te",outcome="succeeded"} 1)",
                      R"(cairn_step_seconds_count{graph="g",node="plan"} 5)",
                      R"(cairn_step_seconds_sum{graph="g",node="plan"} 14)",
                      R"(cairn_step_seconds_bucket{graph="g",node="plan",le="1"} 0)",
                      R"(cairn_step_seconds_bucket{graph="g",node="plan",le="5"} 5)", "cairn_events_total 7"});
}

TEST(CountedEvents, what_the_engine_closed_has_no_duration) {
  StepSucceeded by_engine = success("wait");
  by_engine.started_at = 0;
  const std::string text = text_after({row_of(by_engine)});
  expect_lines(text, {R"(cairn_steps_total{graph="g",node="wait",outcome="succeeded"} 1)",
                      R"(cairn_step_seconds_count{graph="g",node="wait"} 0)"});
}

TEST(CountedEvents, runs_and_sub_goals) {
  RunFinished aborted;
  aborted.status = RunStatus::aborted;
  SubGoalClosed goal;
  goal.started_at = start_us + 2'500'000;
  SubGoalClosed skipped;
  skipped.status = GoalStatus::skipped;
  const std::string text =
      text_after({row_of(RunStarted{}), row_of(goal), row_of(skipped), row_of(RunFinished{}), row_of(aborted)});
  expect_lines(
      text, {R"(cairn_runs_started_total{graph="g"} 1)", R"(cairn_runs_ended_total{graph="g",status="done"} 1)",
             R"(cairn_runs_ended_total{graph="g",status="aborted"} 1)",
             R"(cairn_runs_ended_total{graph="g",status="failed"} 0)", R"(cairn_run_seconds_sum{graph="g"} 6)",
             R"(cairn_sub_goals_total{graph="g",status="succeeded"} 1)",
             R"(cairn_sub_goals_total{graph="g",status="skipped"} 1)", R"(cairn_sub_goal_seconds_sum{graph="g"} 0.5)"});
}

TEST(CountedEvents, calls_of_models_and_tools_whatever_their_record_holds) {
  const auto record = [](RecordKind kind, const std::string& fields) { return row_of(Record{kind, fields}); };
  const std::string text = text_after({
      record(RecordKind::model_called,
             R"({"model":"m","request":{"tokens_in":9},"tokens_in":100,"tokens_out":20,"cost":0.5,"latency_ms":250,)"
             R"("ok":true})"),
      record(RecordKind::model_called, R"({"model":"m","tokens_in":-5,"tokens_out":"7","cost":null,"ok":false})"),
      record(RecordKind::model_called, R"({"model":7})"),
      record(RecordKind::tool_called, R"({"tool":"echo","ok":true,"latency_ms":3})"),
      record(RecordKind::loop_detected, R"({"says":"again"})"),
  });
  expect_lines(
      text,
      {R"(cairn_model_calls_total{model="m",ok="true"} 1)", R"(cairn_model_calls_total{model="m",ok="false"} 1)",
       R"(cairn_model_calls_total{model="",ok="false"} 1)", R"(cairn_model_tokens_total{model="m",direction="in"} 100)",
       R"(cairn_model_tokens_total{model="m",direction="out"} 20)", R"(cairn_model_cost_total{model="m"} 0.5)",
       R"(cairn_model_call_seconds_sum{model="m"} 0.25)", R"(cairn_tool_calls_total{tool="echo",ok="true"} 1)"});
}

TEST(CountedEvents, one_that_cannot_be_read_is_left_out) {
  EventRow broken = row_of(StepFailed{});
  broken.payload = "{\"node\":";
  EventRow cut = row_of(success("plan"));
  cut.payload = cut.payload.substr(0, 9);
  EventRow newer = row_of(RunFinished{});
  newer.version = 99;
  const std::string text = text_after({broken, cut, newer, row_of(success("plan"))});
  expect_lines(text, {R"(cairn_steps_total{graph="g",node="plan",outcome="succeeded"} 1)", "cairn_events_total 4"});
  EXPECT_EQ(text.find("cairn_runs_ended_total{"), std::string::npos);
}

// --- the store ------------------------------------------------------------------------------------------------------

// Answers what a test says, and fails when it is to.
class SaidStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<Verdict> verdicts;
  ClaimedBatch jobs;
  bool fails = false;

  std::vector<Verdict> commit(Shard, std::span<const Entry>, CommitOptions) override {
    if (fails) throw StoreUnavailable("away");
    return verdicts;
  }
  LockedCommitted commit_locked(Shard, std::span<const KnownRun>, const DecideLocked& decide) override {
    decide({});
    return {verdicts, jobs.jobs};
  }
  ClaimedBatch claim(const ClaimRequest&) override {
    if (fails) throw StoreUnavailable("away");
    return jobs;
  }
  bool await_notification(std::int64_t, NotifiedBy) override { return true; }
};

struct Counted {
  Counted() {
    auto made = std::make_unique<SaidStore>(*memory);
    said = made.get();
    store = make_counting_store(std::move(made), counts);
  }
  std::string text() const { return work_metrics_text(*counts); }

  std::unique_ptr<Store> memory = make_memory_store(1, [] { return start_us; });
  std::shared_ptr<WorkCounts> counts = std::make_shared<WorkCounts>();
  SaidStore* said = nullptr;
  std::unique_ptr<Store> store;
};

Verdict verdict(Verdict::Kind kind) {
  Verdict made;
  made.kind = kind;
  return made;
}

TEST(CountingStore, a_commit_counts_by_its_verdicts_and_events_of_committed_entries_alone) {
  Counted counted;
  counted.said->verdicts = {verdict(Verdict::Kind::committed), verdict(Verdict::Kind::conflict),
                            verdict(Verdict::Kind::stale)};
  const std::vector<Entry> entries = {entry_of({row_of(success("a"))}), entry_of({row_of(success("b"))}),
                                      entry_of({row_of(success("c"))})};
  counted.store->commit(0, entries, {true});
  counted.store->commit_locked(0, {}, [&](std::vector<LockedRun>) { return LockedDecision{entries, {}}; });
  const std::string text = counted.text();
  expect_lines(text, {R"(cairn_entries_total{verdict="committed"} 2)", R"(cairn_entries_total{verdict="conflict"} 2)",
                      R"(cairn_entries_total{verdict="stale"} 2)", R"(cairn_entries_total{verdict="closed"} 0)",
                      "cairn_commit_seconds_count 2", "cairn_commit_entries_sum 6", "cairn_wake_ups_sent_total 1",
                      R"(cairn_steps_total{graph="g",node="a",outcome="succeeded"} 2)"});
  EXPECT_EQ(text.find(R"(node="b")"), std::string::npos) << "it was not committed";
}

TEST(CountingStore, a_claim_counts_its_jobs_and_how_long_they_were_due) {
  Counted counted;
  HeldJob job;
  job.job.queue = "model";
  job.job.run_at_us = start_us - 500'000;
  counted.said->jobs.jobs = {job, job};
  ClaimRequest request;
  request.now_us = start_us;
  counted.store->claim(request);
  EXPECT_TRUE(counted.store->await_notification(1, NotifiedBy::any_process));
  expect_lines(counted.text(), {"cairn_jobs_claimed_total 2", "cairn_claim_seconds_count 1",
                                R"(cairn_job_wait_seconds_sum{queue="model"} 1)", "cairn_wake_ups_total 1"});
}

TEST(CountingStore, a_failure_is_counted_and_thrown_on) {
  Counted counted;
  counted.said->fails = true;
  EXPECT_THROW(counted.store->commit(0, {}, {}), StoreUnavailable);
  EXPECT_THROW(counted.store->claim({}), StoreUnavailable);
  EXPECT_THROW(counted.store->claim({}), StoreUnavailable);
  expect_lines(counted.text(),
               {R"(cairn_database_faults_total{call="commit"} 1)", R"(cairn_database_faults_total{call="claim"} 2)",
                R"(cairn_database_faults_total{call="read"} 0)", "cairn_commit_seconds_count 0"});
}

TEST(Exposition, a_worker_and_a_process_show_themselves) {
  WorkerReport report;
  report.holds = 7;
  report.state_hits = 5;
  expect_lines(worker_metrics_text(report, 256),
               {"cairn_worker_holds 7", "cairn_worker_holds_max 256", "cairn_worker_state_hits_total 5"});
  const std::string text = process_metrics_text();
  for (const char* name : {"process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds ",
                           "process_start_time_seconds "}) {
    const std::size_t at = text.find(std::string("\n") + name);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_GT(std::stod(text.substr(at + 1 + std::string(name).size())), 0) << name;
  }
}

}  // namespace
}  // namespace cairn
