// Two true programs on one database: an older one, which ops/releases builds of an older commit and
// CAIRN_TEST_OLD_PROGRAM names, and this tree's. The older one makes the database and works; the newer one migrates it
// under that load; then both work on it, and one worker of each is killed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>

#include "storage/postgres/schema.hpp"
#include "tests/faults/load.hpp"
#include "tests/faults/lock_watch.hpp"
#include "tests/faults/server.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

enum class Release { older, newer };

constexpr std::chrono::seconds release_patience{180};
constexpr std::int64_t lock_wait_max_us = 1'000'000;
constexpr std::int64_t pause_max_us = 5'000'000;  // of all calls; a machine that is busy has pauses of its own

// Work, a question, a wait for a signal, and work again: each of them may be of another release.
constexpr const char* turns_graph = R"({"name": "turns", "start": "work", "limits": {"steps": 50}, "nodes": {
  "work": {"do": "tool.call", "with": {"tool": "note", "inputs": {"n": "$n"}}, "on": {"ok": "region"}},
  "region": {"ask": {"kind": "question", "prompt": "Which region?", "schema": {"type": "string"}}, "into": "region",
             "on": {"answered": "wait", "expired": "finish"}},
  "wait": {"wait": {"signal": "go"}, "on": {"fired": "again"}},
  "again": {"do": "tool.call", "with": {"tool": "note", "inputs": {"n": "$n"}}, "on": {"ok": "finish"}},
  "finish": {"end": "done"}}})";

struct TurnRun {
  std::string run;
  bool is_answered = false;
  bool is_signalled = false;
};

TimeUs now_by_wall() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::string run_of(const Execution& one) { return one.key.substr(0, one.key.find('/')); }

// The longest time without a call between `from` and the first call after `until`.
TimeUs longest_pause(std::vector<Execution> ledger, TimeUs from, TimeUs until) {
  std::sort(ledger.begin(), ledger.end(), [](const Execution& a, const Execution& b) { return a.at < b.at; });
  TimeUs last = from;
  TimeUs longest = 0;
  for (const Execution& one : ledger) {
    if (one.at < from) continue;
    longest = std::max(longest, one.at - last);
    last = one.at;
    if (one.at > until) break;
  }
  return longest;
}

class SideBySide {
 public:
  explicit SideBySide(std::string older);

  void begin_with_the_older();
  void migrate_under_load();
  void go_on_with_the_older_workers();
  void work_with_both_and_kill_one_of_each();
  void end_all();
  void expect_nothing_lost_or_doubled();
  void expect_the_older_reads_or_says_why();

 private:
  bool is_other_schema() const { return older_schema_ < newest_schema(); }
  // A release whose commands pass after the migration: a program refuses a schema that is newer than its own.
  Release one_that_may(std::size_t n) const {
    return is_other_schema() || n % 2 == 0 ? Release::newer : Release::older;
  }
  const std::string& program(Release which) const { return which == Release::older ? older_ : newer_; }
  Ran by(Release which, Arguments arguments) const;
  Ran by_ok(Release which, const Arguments& arguments) const;
  Arguments work() const { return {"work", "--tools", tools_, "--concurrency", "6", "--json"}; }
  void add_worker(Release which);
  void start_load(Release which, int plans);
  void start_turn(Release which);
  void fork_turn(Release which, std::size_t n);
  void answer(Release which, std::size_t n);
  void send_signal(Release which, std::size_t n);
  std::int64_t count(const std::string& what) const { return test::ask_number(dsn_, "select count(*) from " + what); }
  std::int64_t open_runs() const { return count("cairn.run where status not in ('done', 'failed', 'aborted')"); }
  std::string states() const;
  int calls_by(pid_t worker, TimeUs since, const std::string& run = "") const;
  void expect_the_newer_waits_for_its_schema() const;
  void expect_the_older_says_that_it_is_too_old() const;
  void expect_the_watch_sees_a_lock() const;
  void expect_calls_and_events_agree() const;

  const std::string older_;
  const std::string newer_ = testing::cairn_program();
  int older_schema_ = 0;
  OwnServer server_{"two_releases"};
  const std::string dsn_ = server_.dsn();
  const std::filesystem::path ledger_ = directory() / "two_releases.ledger";
  std::string tools_;
  std::vector<Beside> older_workers_;
  std::vector<Beside> newer_workers_;
  std::vector<TurnRun> turns_;
  int plans_ = 0;
};

SideBySide::SideBySide(std::string older) : older_(std::move(older)) {
  setenv("CAIRN_CHECKPOINTS", (directory() / "two_releases_checkpoints").c_str(), 1);
  const Ran version = run_program(older_, {"version", "--json"});
  if (version.exit != 0) throw std::runtime_error(older_ + " does not say its version: " + version.err);
  older_schema_ = version.json().at("schema");
  if (older_schema_ > newest_schema()) throw std::runtime_error(older_ + " is newer than this program");
  const Json note = {{"exec", {testing::note_program(), ledger_.string(), "20"}}, {"timeout_ms", 10'000}};
  tools_ = write_file("two_releases.json", Json{{"tools", {{"note", note}}}}.dump());
}

// --- what both programs do -------------------------------------------------------------------------------------------

Ran SideBySide::by(Release which, Arguments arguments) const {
  return run_program(program(which), on(dsn_, std::move(arguments)));
}

Ran SideBySide::by_ok(Release which, const Arguments& arguments) const {
  Ran ran = by(which, arguments);
  EXPECT_EQ(ran.exit, 0) << program(which) << " " << arguments.front() << "\n" << ran.out << ran.err;
  if (ran.exit != 0) throw std::runtime_error(program(which) + " " + arguments.front() + " failed");
  return ran;
}

void SideBySide::add_worker(Release which) {
  (which == Release::older ? older_workers_ : newer_workers_).emplace_back(program(which), on(dsn_, work()));
}

void SideBySide::start_load(Release which, int plans) {
  std::string inputs;
  for (int n = 0; n < plans; ++n) inputs += plan_of("two_releases", plans_ + n).dump() + "\n";
  const std::string file = write_file("two_releases" + std::to_string(plans_) + ".jsonl", inputs);
  by_ok(which, {"batch", "plan_runner", "--inputs", file, "--tools", tools_, "--json"});
  plans_ += plans;
}

void SideBySide::start_turn(Release which) {
  const Json input = {{"n", turns_.size()}};
  turns_.push_back(
      {by_ok(which, {"start", "turns", "--input", input.dump(), "--tools", tools_, "--json"}).json().at("run")});
}

// The origin waits for its answer, and so does the fork.
void SideBySide::fork_turn(Release which, std::size_t n) {
  const std::string at = std::to_string(by_ok(which, {"show", turns_[n].run, "--json"}).json()["seq"].get<int>());
  turns_.push_back({by_ok(which, {"fork", turns_[n].run, "--at", at, "--tools", tools_, "--json"}).json().at("run")});
}

void SideBySide::answer(Release which, std::size_t n) {
  const std::string asked = "cairn.question where run_id = '" + turns_[n].run + "'";
  const bool is_asked = wait_until([&] { return count(asked) > 0; }, release_patience);
  if (!is_asked) throw std::runtime_error("the run " + turns_[n].run + " did not ask: " + states());
  by_ok(which, {"answer", turns_[n].run, "--value", R"("north")"});
  turns_[n].is_answered = true;
}

void SideBySide::send_signal(Release which, std::size_t n) {
  const auto waits = [&] { return by_ok(which, {"show", turns_[n].run, "--json"}).json()["status"] == "waiting"; };
  if (!wait_until(waits, release_patience)) throw std::runtime_error("the run " + turns_[n].run + " did not wait");
  by_ok(which, {"signal", turns_[n].run, "go", "--value", "true", "--id", "go"});
  turns_[n].is_signalled = true;
}

std::string SideBySide::states() const {
  return test::ask_text(dsn_,
                        "select coalesce(string_agg(status || ' ' || n, ', '), 'no run') from (select status, count(*) "
                        "as n from cairn.run group by status) s");
}

int SideBySide::calls_by(pid_t worker, TimeUs since, const std::string& run) const {
  int calls = 0;
  for (const Execution& one : read_ledger(ledger_))
    calls += one.worker == worker && one.at >= since && (run.empty() || run_of(one) == run) ? 1 : 0;
  return calls;
}

// --- too new, too old ------------------------------------------------------------------------------------------------

void SideBySide::expect_the_newer_waits_for_its_schema() const {
  EXPECT_EQ(by(Release::newer, {"migrate", "--check"}).exit, 1);
  for (const Arguments& arguments : {Arguments{"runs"}, work(), Arguments{"start", "plan_runner", "--input", "{}"}}) {
    const Ran ran = by(Release::newer, arguments);
    EXPECT_EQ(ran.exit, 5) << arguments.front() << "\n" << ran.err;
    EXPECT_NE(ran.err.find("version " + std::to_string(older_schema_) + ": `cairn migrate`"), std::string::npos)
        << ran.err;
  }
}

void SideBySide::expect_the_older_says_that_it_is_too_old() const {
  const std::string says = "Expected a schema of at most version " + std::to_string(older_schema_) +
                           ", but the database has version " + std::to_string(newest_schema()) + ".";
  const std::string run = turns_.front().run;
  for (const Arguments& arguments :
       {Arguments{"show", run}, Arguments{"verify", run}, Arguments{"runs"}, work(), Arguments{"migrate"},
        Arguments{"signal", run, "go", "--value", "1"}, Arguments{"start", "turns", "--input", R"({"n": 1})"}}) {
    const Ran ran = by(Release::older, arguments);
    EXPECT_EQ(ran.exit, 4) << arguments.front() << "\n" << ran.err;
    EXPECT_EQ(ran.out, "") << arguments.front();
    EXPECT_NE(ran.err.find(says), std::string::npos) << arguments.front() << "\n" << ran.err;
  }
}

// --- the way of an upgrade -------------------------------------------------------------------------------------------

void SideBySide::begin_with_the_older() {
  by_ok(Release::older, {"migrate"});
  if (is_other_schema()) expect_the_newer_waits_for_its_schema();
  by_ok(Release::older, {"graph", "add", write_file("turns.json", turns_graph)});
  add_worker(Release::older);
  add_worker(Release::older);
  for (int n = 0; n < 6; ++n) start_turn(Release::older);
  answer(Release::older, 0);
  answer(Release::older, 1);
  send_signal(Release::older, 0);
  EXPECT_TRUE(wait_until([&] { return count("cairn.question") == 4; })) << states();
  fork_turn(Release::older, 2);  // the seventh
  start_load(Release::older, 400);
}

// The watch would be silent if it saw nothing.
void SideBySide::expect_the_watch_sees_a_lock() const {
  LockWatch watch(dsn_);
  test::ask(dsn_, "do $$ begin lock table cairn.run in access exclusive mode; perform pg_sleep(0.4); end $$");
  const LockWatch::Seen seen = watch.stop();
  EXPECT_GT(seen.longest_us, 200'000) << "no worker waited for a table that was locked for 0.4 s; " << seen.fault;
}

void SideBySide::migrate_under_load() {
  const TimeUs begin = now_by_wall();
  const auto are_at_work = [&] {
    return std::all_of(older_workers_.begin(), older_workers_.end(),
                       [&](const Beside& worker) { return calls_by(worker.pid(), begin) >= 10; });
  };
  EXPECT_TRUE(wait_until(are_at_work)) << states();
  expect_the_watch_sees_a_lock();

  LockWatch watch(dsn_);
  const TimeUs from = now_by_wall();
  const Json migrated = by_ok(Release::newer, {"migrate", "--json"}).json();
  const TimeUs until = now_by_wall();
  const LockWatch::Seen seen = watch.stop();
  EXPECT_EQ(migrated["from"], older_schema_);
  EXPECT_EQ(migrated["to"], newest_schema());
  EXPECT_GT(open_runs(), 0) << "the load had ended before the schema was migrated";
  const auto goes_on = [&] {
    return calls_by(older_workers_[0].pid(), until) > 0 && calls_by(older_workers_[1].pid(), until) > 0;
  };
  EXPECT_TRUE(wait_until(goes_on)) << "an older worker stands still: " << states();
  const TimeUs pause = longest_pause(read_ledger(ledger_), from, until);
  std::cout << "two releases: schema " << older_schema_ << " to " << newest_schema() << " in " << (until - from) / 1'000
            << " ms under load; longest wait for a lock " << seen.longest_us / 1'000 << " ms ("
            << (seen.longest.empty() ? "none was seen" : seen.longest) << ", " << seen.looks
            << " looks), longest pause between calls " << pause / 1'000 << " ms" << std::endl;
  EXPECT_EQ(seen.fault, "");
  EXPECT_GT(seen.looks, 0);
  EXPECT_LT(seen.longest_us, lock_wait_max_us) << seen.longest;
  EXPECT_LT(pause, pause_max_us);
}

// On new connections too, where nothing that a worker had prepared is left.
void SideBySide::go_on_with_the_older_workers() {
  if (is_other_schema()) expect_the_older_says_that_it_is_too_old();
  const TimeUs since = now_by_wall();
  EXPECT_GT(server_.signal_backends(SIGTERM, 1), 0);
  start_turn(Release::newer);
  answer(Release::newer, 2);
  answer(Release::newer, 6);
  send_signal(Release::newer, 1);
  fork_turn(Release::newer, 3);
  const std::string& run = turns_[7].run;
  const auto is_begun = [&] {
    return calls_by(older_workers_[0].pid(), since, run) + calls_by(older_workers_[1].pid(), since, run) > 0;
  };
  EXPECT_TRUE(wait_until(is_begun, release_patience)) << "no older worker took the newer program's run: " << states();
  for (Beside& worker : older_workers_) EXPECT_FALSE(worker.has_ended()) << worker.err();
}

void SideBySide::work_with_both_and_kill_one_of_each() {
  start_load(Release::newer, 400);
  add_worker(Release::newer);
  add_worker(Release::newer);
  const TimeUs since = now_by_wall();
  const auto all_work = [&] {
    for (const std::vector<Beside>* workers : {&older_workers_, &newer_workers_})
      for (const Beside& worker : *workers)
        if (calls_by(worker.pid(), since) < 3) return false;
    return true;
  };
  EXPECT_TRUE(wait_until(all_work)) << states() << "\n" << newer_workers_[0].err() << newer_workers_[1].err();
  EXPECT_GT(open_runs(), 0) << "the load had ended before workers were killed";
  for (std::vector<Beside>* workers : {&older_workers_, &newer_workers_}) {
    workers->front().signal(SIGKILL);
    EXPECT_EQ(workers->front().wait(), 128 + SIGKILL);
    workers->erase(workers->begin());
  }
  add_worker(Release::newer);
  if (!is_other_schema()) add_worker(Release::older);
}

void SideBySide::end_all() {
  start_turn(one_that_may(1));
  for (std::size_t n = 0; n < turns_.size(); ++n)
    if (!turns_[n].is_answered) answer(one_that_may(n), n);
  for (std::size_t n = 0; n < turns_.size(); ++n)
    if (!turns_[n].is_signalled) send_signal(one_that_may(n + 1), n);
  EXPECT_TRUE(wait_until([&] { return open_runs() == 0; }, release_patience)) << "some are stuck: " << states();
  for (std::vector<Beside>* workers : {&older_workers_, &newer_workers_})
    for (Beside& worker : *workers) {
      EXPECT_FALSE(worker.has_ended()) << worker.err();
      worker.signal(SIGTERM);
      EXPECT_EQ(worker.wait(), 0) << worker.err();
    }
}

// --- what came of it -------------------------------------------------------------------------------------------------

void SideBySide::expect_calls_and_events_agree() const {
  std::map<std::pair<std::string, int>, int> calls;
  std::map<std::string, std::set<std::string>> steps_of_run;
  for (const Execution& one : read_ledger(ledger_)) {
    ++calls[{one.key, one.attempt}];
    steps_of_run[run_of(one)].insert(one.key);
  }
  EXPECT_GE(calls.size(), static_cast<std::size_t>(plans_ * goals_per_plan));
  for (const auto& [attempt, times] : calls)
    EXPECT_EQ(times, 1) << attempt.first << ", attempt " << attempt.second << ", was executed more than once";
  const PgResult plans = test::ask(dsn_,
                                   "select run_id::text from cairn.events where type = 'sub_goal_closed' and "
                                   "payload->>'status' = 'succeeded' group by run_id having count(*) = " +
                                       std::to_string(goals_per_plan));
  EXPECT_EQ(plans.rows(), plans_) << "not every plan closed each of its sub-goals once";
  for (int row = 0; row < plans.rows(); ++row)
    EXPECT_GE(steps_of_run[std::string(plans.text(row, 0))].size(), static_cast<std::size_t>(goals_per_plan))
        << plans.text(row, 0) << " has closed what was not executed";
  for (const char* end : {"step_succeeded", "sub_goal_closed"})
    EXPECT_EQ(count("(select run_id, step, payload->>'attempt' from cairn.events where type in ('step_failed', '" +
                    std::string(end) +
                    "') and coalesce(payload->>'status', '') <> 'skipped' group by 1, 2, 3 having count(*) > 1) twice"),
              0)
        << "an attempt's end is recorded twice, with " << end;
}

void SideBySide::expect_nothing_lost_or_doubled() {
  const std::int64_t started = plans_ + static_cast<std::int64_t>(turns_.size());
  EXPECT_EQ(count("cairn.run"), started) << states();
  EXPECT_EQ(count("cairn.run where status = 'done'"), started) << states();
  EXPECT_EQ(count("cairn.job"), 0) << "jobs are left of runs that have ended";
  EXPECT_EQ(count("cairn.question"), 0);
  expect_calls_and_events_agree();
  EXPECT_EQ(by(Release::newer, {"rebuild", "--check"}).exit, 0) << "rows differ from the history";
  // The last commits of a killed worker are sound and unsigned; an operator signs them by hand, and so does this.
  for (const Arguments& verify : {Arguments{"verify", "--all", "--accept"}, Arguments{"verify", "--all"}}) {
    const Ran ran = by(Release::newer, verify);
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
  std::cout << "two releases: " << started << " runs, " << read_ledger(ledger_).size() << " calls, " << states()
            << std::endl;
}

// A finding (1) about a sound run would be as wrong as a crash.
void SideBySide::expect_the_older_reads_or_says_why() {
  const std::int64_t events = count("cairn.event");
  const std::string run = turns_[7].run;  // the newer program started it, and worked on it last
  const std::string file = directory() / "two_releases.export";
  by_ok(Release::newer, {"export", run, turns_[2].run, turns_[6].run, "--out", file});
  by_ok(Release::newer, {"verify", "--file", file});
  for (const Arguments& arguments :
       {Arguments{"show", run}, Arguments{"show", run, "--json"}, Arguments{"events", run, "--json"},
        Arguments{"verify", run}, Arguments{"export", run}, Arguments{"verify", "--file", file}}) {
    const Ran ran = by(Release::older, arguments);
    const bool says_why = ran.exit >= 3 && ran.exit <= 5 && ran.err.find("Expected ") != std::string::npos;
    EXPECT_TRUE(ran.exit == 0 || says_why) << arguments.front() << ": " << ran.exit << "\n" << ran.out << ran.err;
    std::cout << "two releases: the older program's " << arguments.front() << ": "
              << (ran.exit == 0 ? "works" : ran.err.substr(0, ran.err.find('\n'))) << std::endl;
  }
  if (is_other_schema()) expect_the_older_says_that_it_is_too_old();
  EXPECT_EQ(count("cairn.event"), events);
}

TEST(TwoReleases, A18_work_side_by_side_through_a_migration_and_nothing_is_lost_doubled_or_stuck) {
  const char* const older = std::getenv("CAIRN_TEST_OLD_PROGRAM");
  if (older == nullptr) GTEST_SKIP() << "no program of the release before (ops/releases test builds one)";
  SideBySide releases(older);
  releases.begin_with_the_older();
  releases.migrate_under_load();
  releases.go_on_with_the_older_workers();
  releases.work_with_both_and_kill_one_of_each();
  releases.end_all();
  releases.expect_nothing_lost_or_doubled();
  releases.expect_the_older_reads_or_says_why();
}

}  // namespace
}  // namespace cairn::program
