#include "tests/faults/results.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <random>
#include <sstream>
#include <sys/utsname.h>
#include <thread>

namespace cairn::program {
namespace {

struct Row {
  FaultLine line;
  const ::testing::TestInfo* of = nullptr;
  bool has_held() const { return of == nullptr || !of->result()->Failed(); }
};

std::vector<Row>& lines() {
  static std::vector<Row> all;
  return all;
}

constexpr const char* heading =
    "| Fault | Held | Injected | Acknowledged | Lost | Recorded twice | Executed twice | In doubt: landed, not | Stale "
    "refused "
    "| Bystanders | Harmed | Recovery p50, p99, max | Rate after / before |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

std::string ms_text(double value) { return std::to_string(static_cast<std::int64_t>(value)) + " ms"; }

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

std::string recovery_text(std::vector<double> values) {
  if (values.empty()) return "–";
  std::sort(values.begin(), values.end());
  return ms_text(quantile(values, 0.5)) + ", " + ms_text(quantile(values, 0.99)) + ", " + ms_text(values.back());
}

std::string rate_text(const FaultLine& line) {
  if (line.before_per_s == 0) return "–";
  std::ostringstream text;
  text.precision(0);
  text << std::fixed << 100 * line.after_per_s / line.before_per_s << " % of " << line.before_per_s << "/s";
  if (line.during_s > 0)
    text << "; " << 100 * line.during_per_s / line.before_per_s << " % meanwhile, for " << line.during_s << " s";
  return text.str();
}

std::string lost_text(const FaultLine& line) {
  const std::string lost = std::to_string(line.lost);
  return line.gone == 0 ? lost : lost + " (" + std::to_string(line.gone) + " by the database, each named)";
}

std::string text_of(const Row& row) {
  const FaultLine& line = row.line;
  std::ostringstream text;
  text << "| " << line.fault << " | " << (row.has_held() ? "held" : "**did not hold**") << " | " << line.injected
       << " | " << line.acknowledged << " | " << lost_text(line) << " | " << line.recorded_twice << " | "
       << line.executed_twice << " | " << line.landed << ", " << line.not_landed << " | " << line.stale << " | "
       << line.bystanders << " | " << line.harmed << " | " << recovery_text(line.recovery_ms) << " | "
       << rate_text(line) << " |";
  return text.str();
}

// The value of the first line of the file that begins so, or nothing.
std::string line_of(const char* path, const std::string& begin) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with(begin) && colon != std::string::npos)
      return line.substr(line.find_first_not_of(" \t", colon + 1));
  }
  return "unknown";
}

std::string machine() {
  utsname system{};
  uname(&system);
  const long long kilobytes = std::atoll(line_of("/proc/meminfo", "MemTotal").c_str());
  return line_of("/proc/cpuinfo", "model name") + ", " + std::to_string(std::thread::hardware_concurrency()) +
         " processors, " + std::to_string((kilobytes + 524'288) / 1'048'576) + " GiB, Linux " + system.release;
}

std::string named_by(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "unknown" : value;
}

// Kinds that have no row, as they were left out on this machine or broke off.
std::string without_row() {
  std::string text;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite)
    for (int n = 0; n < all.GetTestSuite(suite)->total_test_count(); ++n) {
      const ::testing::TestInfo& one = *all.GetTestSuite(suite)->GetTestInfo(n);
      const bool has_row = std::any_of(lines().begin(), lines().end(), [&](const Row& row) { return row.of == &one; });
      if (!one.should_run() || has_row || one.result()->Passed()) continue;
      text += std::string("\nWithout a row: `") + one.name() + "`, which " +
              (one.result()->Skipped() ? "was left out.\n" : "**did not hold**.\n");
    }
  return text;
}

constexpr const char* explanations = R"(
## How to read it

- **Settings.** Three workers of six slots each, two where commits are cut; a step takes 100 ms; plans of five steps
  keep all slots busy. A server of a test's own has `shared_buffers` and `max_wal_size` of 64 MB, else the defaults,
  `fsync` included; otherwise it is the embedded one. A machine of a server's own is a network namespace: cut off, all
  packets to it and from it are lost, and nothing answers for it; it needs root, as does a disk of a test's own.
- **Lost** are acknowledged runs that are not there, or did not end with all five steps. Where the database itself loses
  what it had acknowledged (a standby that lags, an older backup) each such run must be named by `verify --all`.
- **Recorded twice**: two ends of one attempt, or two closings of one step. The fence and the run's head forbid both.
- **Executed twice**: one attempt was called twice. A claim does not wait for the disk
  ([0010](../../ops/decisions/0010_claims_wait_for_no_disk.md)), so a server that forgets its last half second
  hands these steps out again. A standby that lags, or an older backup, forgets whole seconds of steps that had
  succeeded: all of them are executed again, under the same key and attempt. The number is that time multiplied by the
  rate; any second execution whose first one lies outside of what the server forgot fails the test.
- **Held**: all that the kind's test expects was so. What a row shows beyond its bounds is a kind that did not hold.
- **In doubt**: commits whose answer was lost; they had landed, or had not and went again.
- **Stale refused**: late reports of workers that had lost what they held, as each counts its own when it ends. This is
  a lower bound: what a killed worker had counted is lost, and workers in other languages do not count here.
- **Recovery**, where a fault strikes all (a server, its disk, its clock, commands, tools, clients): from its end to the
  next call of a tool by any worker; under Patroni from the kill of the leader to the first call after another one
  leads, of which 5 s are the time that a leader's claim lasts (`ttl`). Where it strikes some workers (`SIGKILL` and
  `SIGSTOP` of a worker) or their path (a network, a pooler, a cut commit): from its beginning, so that the fault's own
  time is in it, for each step that such a worker was at, until the history says that it was lost, so that others may
  have it, or, where the worker lives, until its next call after the fault has ended. In the mixture both are there. A
  bound is expected of each:
  twice the time-to-live of a worker (10 s) and the longest pause between two sweeps (2 s), which is 24 s, beyond the
  fault's own time. A fault after which no call follows fails the test. The row of two languages measures
  neither this nor the rate; it counts what is executed twice and does not hold it against what the server forgot, and
  any of its runs may be left unsigned.
- **Rate**: calls a second, the median of three windows of two seconds, before the first fault and likewise after the
  last; at least 95 % is expected. Where it is less after the last, it is measured once more, and that is shown.
  **Meanwhile** is the rate over the whole span that stands next to it, pauses and
  commands of the test included; 95 % is expected where others are not to be held up (`cairn serve`, foreign locks),
  80 % under the old snapshot; elsewhere it is shown and nothing is expected of it.
- **Signatures**: the last commits of a killed worker are unsigned. Before `verify --all` has to find nothing, such ends
  of runs that a killed worker had in its hands, and of poisonous and commanded ones, are accepted, and no others. An
  addition to one of these runs, or one younger than a minute, would not be seen here; `Unsigned.*` has both.
- **Smaller than what was tried by hand** before there was this page: the clock 5 s ahead and not an hour or a day, as a
  step that is queued meanwhile stands until then; holes of 6 s and not 60; an old snapshot of 20 s and not minutes; a
  still server for 3 s and not 20; 20,000 timers and not 400,000; 180 commands and not thousands.

## Not in the table

- Two releases at once (N14): not in the matrix. `ops/releases test` builds an older program and runs it with this one
  (`TwoReleases.*`). The statements of release 9 are tried against this one by
  `Upgrade.A18_statements_of_release_9_beside_this_program_strand_nothing`.
- A folder of data that becomes read-only under a server that runs (10e), as a kernel does after an error of a disk: not
  tried, as a file system that is open to be written is not mounted again. In the table its server dies first.
- Anything at all as input (N16): no fault of a load; `tests/fuzz` with its corpus in each run of the tests, and
  libFuzzer by `ops/fuzz`. Sanitizers (N17): the tests under them by `ops/test --sanitize` and `ops/test --tsan`; the
  rows above are of the release build.
- The loss of power: `SIGKILL` leaves the page cache. Machines of their own: there is one kernel.
- A worker that ends at a named place (N1): `crash_everywhere` of the planners' tests ends one after each commit in
  turn (`Invariants.X_3_and_X_6_and_X_8_wherever_it_died_it_goes_on_to_the_same_end`), and the simulator anywhere
  between two calls (`Simulation.what_must_hold_holds_whatever_happens`). In the table workers die at random.
- The clocks of workers (N6): `SetClock.A17_that_of_a_worker_neither_fails_a_step_nor_stands_in_the_history`. In the
  table it is the server's.
- Claims and completions given twice (N8): `GatewayTest.a_report_that_comes_twice_at_once_counts_once`,
  `GatewayTest.the_same_report_again_is_already_there_for_ever_and_another_is_a_conflict`,
  `ClaimTest.threads_never_claim_one_job_twice` and the simulator. In the table starts are given three times.
- Handlers that run late (N9): `InFlight.a_step_that_lapses_is_lost_although_its_worker_lives`,
  `Decide.a_late_result_of_an_earlier_attempt_is_stale`,
  `SetClock.A17_a_step_has_its_whole_time_whatever_the_clock_does_and_no_more`. In the table a whole worker is late
  (`SIGSTOP`), and a tool that hangs is ended.
- A server without NOTIFY (N12): the storage tests have such a variant, `postgres_without_notify`; in the table
  listeners get nothing. The age of the oldest snapshot:
  `DoctorProgram.names_who_holds_a_snapshot_and_who_may_change_events`,
  `Doctor.D15_a_snapshot_of_a_minute_is_named_when_dead_rows_have_gathered`.
- A chain with all hashes computed again (N15): `CheckpointAuditTest.a_history_that_was_computed_anew_shows`. In the
  table it is altered without that.
- A run of 200 MB (14): no test, as it takes minutes and gigabytes. What is bounded of such a run:
  `ApiDoors.D14_an_answer_about_a_large_run_is_bounded_and_a_channel_is_read_alone`,
  `Archive.A13_goes_on_past_a_run_that_cannot_be_archived_and_names_it`.
- A promotion within the mixture (N3): its server has no standby; promotions stand alone in the table.
- A first host that says nothing, and a database that hangs (7e, 7f): `HangingDatabase.*`. A login that may only read
  (8a): `Embedded.D8a_a_login_that_may_only_read_is_told_once`. Closed streams (9f):
  `Follow.a_closed_stdout_is_told_and_harms_nothing`. A migration beside a long report (12a):
  `Migrator.writers_pass_while_a_migration_waits_for_a_report`.
- 5,000 tools at once (9c) and runs of 100,000 steps (14b): the slots of a worker and the limits of a graph bound both,
  and the second is measured by `cairn bench --case scale.appends`.
- Workers that lack descriptors, threads or address space: `Shortage.*`. Stale and empty pid files, two `up` on one
  folder, replaced programs of the server: `ClusterTest.D10_*`, `ClusterTest.D6_*`, `Embedded.*`.
)";

class Page : public ::testing::Environment {
 public:
  void TearDown() override {
    const char* file = std::getenv("CAIRN_FAULTS_RESULTS");
    if (file == nullptr || lines().empty()) return;
    const auto took = std::chrono::duration_cast<std::chrono::minutes>(std::chrono::steady_clock::now() - began_);
    std::ofstream page(file);
    page << "# Faults\n\nWritten by `ops/faults`, seed " << fault_seed()
         << ". Real worker processes, a real server; what is acknowledged and executed is kept in a ledger outside of\n"
            "the engine and compared with the events at the end of each kind.\n\nAt commit "
         << named_by("CAIRN_FAULTS_COMMIT") << ", " << named_by("CAIRN_FAULTS_SERVER") << ", on " << machine()
         << ", in " << took.count() << " minutes.\n\n"
         << heading;
    for (const Row& row : lines()) page << text_of(row) << '\n';
    page << without_row() << explanations;
  }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

[[maybe_unused]] const auto* const page = ::testing::AddGlobalTestEnvironment(new Page);

}  // namespace

void add_line(FaultLine line) {
  if (lines().empty()) std::cout << heading;
  lines().push_back({std::move(line), ::testing::UnitTest::GetInstance()->current_test_info()});
  std::cout << text_of(lines().back()) << std::endl;
}

bool is_full() { return std::getenv("CAIRN_FAULTS_FULL") != nullptr; }

std::uint64_t fault_seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("CAIRN_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}() % 1'000'000;
  }();
  return seed;
}

}  // namespace cairn::program
