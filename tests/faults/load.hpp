// The load of the fault tests: plans on real worker processes, and a ledger kept outside the engine. A tool notes each
// call in it, the client each run whose start was acknowledged; at the end it is compared with the events.
// Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "tests/faults/results.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {

// The server's latest writes that a fault takes away. Claims do not wait for the disk (decision 0010): a lost claim is
// made again, and its attempt executed again. A standby may lack commits as well: what was acknowledged then is gone.
enum class Unwritten { claims, commits };

struct Execution {  // a line of the ledger
  std::string key;  // run/step
  int attempt = 0;
  TimeUs at = 0;
  pid_t worker = 0;
};

// In the order in which they were written.
std::vector<Execution> read_ledger(const std::filesystem::path& ledger);

// A diamond and its end: a, then b and c side by side, then d, then e. No other load has the same plan: a batch that is
// given twice is started once.
Json plan_of(const std::string& load, int number);
inline constexpr int goals_per_plan = 5;

struct LoadOptions {
  std::string name;
  int workers = 3;
  std::vector<std::string> worker_dsns = {};  // which the workers take in turn; none: `dsn`
  std::string dsn = {};                       // "": the embedded cluster
  std::filesystem::path data = {};            // an embedded one's in that folder; empty: in the test's
  std::filesystem::path checkpoints = {};     // their folder; empty: one of the test's
  int work_ms = 100;                          // of a sub-goal
  int batch = 900;                            // plans that keep the workers busy in full, before the faults
  int batch_after = 300;                      // and after them, for the seconds of a measurement
  int checkpoint_ms = 0;  // how often workers sign; 0: as they do. Else runs that lost signed events are looked for
};

class Load {
 public:
  explicit Load(LoadOptions options);

  // Starts a plan of five sub-goals exactly once: under a key, repeated until the start is acknowledged.
  void start_plan();
  void start_plans(int count);
  // One start, given so many times by clients at once: one run.
  void start_again(int times);
  // Starts so many at once, in one acknowledged batch, so that no worker is without work.
  void start_batch(int count);
  // A plan whose only sub-goal misbehaves in that way (note.cpp). It must end, as failed where that way cannot pass.
  void start_poison(const std::string& how);

  Beside& worker(std::size_t n) { return workers_[n % workers_.size()]; }
  std::size_t workers() const { return workers_.size(); }
  void replace_worker(std::size_t n);  // SIGKILL, and another one in its place
  void kill_as_wished() const;         // SIGKILL to the workers whose deaths a poison of that kind asked for

  // In full, lets the workers work undisturbed for some seconds and notes at what rate.
  void measure_before();
  void measure_after();
  // Calls `fault`, and in full notes at what rate the workers work meanwhile; expects this part of the rate before.
  void measure_during(const std::function<void()>& fault, double kept_at_least = 0);
  // Starts plans one after another for so long, so that none waits for another, and calls `beside` after each. The
  // milliseconds from one step's call to that of the step after it, of 99 in 100 of them at most.
  double step_p99_ms(std::chrono::seconds span, const std::function<void()>& beside);

  // Each time: starts two plans, calls `fault`, starts another one, pauses; so there is always work in progress, and a
  // call to follow. Where `fault` notes no end of its own, it ended when it returned.
  void under(int times, std::chrono::milliseconds pause, const std::function<void()>& fault);
  void fault_ended();  // from now on work should go on
  // The same, where the time without work counts from its beginning.
  void fault_ended(std::chrono::system_clock::time_point began);
  // A fault that strikes these workers alone. Its recovery is counted from its beginning, for each step that one of
  // them was at: until it is found to be lost, or the worker calls another one.
  void strike(const std::vector<std::size_t>& workers, const std::function<void()>& fault);
  std::vector<std::size_t> all_workers() const;
  // A fault that loses the server's latest writes. Ends when `fault` returns.
  void lose(Unwritten what, const std::function<void()>& fault);
  // From before the primary falls silent for good until nothing is lost: its standby, which has all that was
  // acknowledged, is promoted three seconds later.
  void outlive_primary(const std::function<void()>& silence, const std::function<void()>& promote,
                       const std::string& fault);
  void wait_until_ended();
  bool have_ended() const;
  bool has_said(const std::string& text) const;  // a worker at work, in its log
  // A command on the load's database, with its tools.
  Arguments with_dsn(Arguments arguments) const;
  const std::string& name() const { return options_.name; }
  const std::string& tools() const { return tools_; }
  std::string database() const;  // its owner's DSN
  // An operator lets the run's failed steps begin again: their attempts are counted from one.
  void note_tried_again(const std::string& run) { tried_again_.insert(run); }
  // Acknowledged commands that the ledger of another keeps.
  void note_acknowledged(std::int64_t count) { line_.acknowledged += count; }

  // Drains the workers, then expects: each acknowledged run exists once and is done; each sub-goal is closed once and
  // in the ledger; each attempt was executed at most once, except those first executed while the server lost its
  // latest writes; no attempt's end is recorded twice; runs next to a poisonous one are done. Where commits were lost,
  // a run acknowledged then may be gone, and one that is there may have lost events: `verify` names each, of the latter
  // those of which the ledger shows that they were signed (`checkpoint_ms`). Adds one line to the table.
  void expect_nothing_lost_or_doubled(const std::string& fault, int injected);

  std::int64_t stale() const { return line_.stale; }  // late writes that were refused, as the drained workers report

 private:
  Arguments work(std::size_t n) const;
  void write_tools();
  Arguments start_arguments(const Json& plan, const std::string& key) const;
  std::string start_under_key(const Json& plan);
  double rate(std::chrono::seconds window) const;
  double rate_between(TimeUs from, TimeUs until) const;
  void drain_workers();
  void read_log(const std::string& text);
  struct Lapse {  // of the server's memory
    Unwritten what = Unwritten::claims;
    TimeUs from = 0;
    TimeUs until = 0;
  };
  struct Start {
    std::string run;
    TimeUs acknowledged_at = 0;
  };
  bool is_in_lapse(TimeUs at, Unwritten what) const;
  std::vector<std::string> runs() const;
  void compare();
  void count_executions(const std::vector<Execution>& ledger);
  void compare_poison(const std::string& dsn) const;
  struct Outage {
    TimeUs ended_at = 0;
    TimeUs counted_from = 0;
    std::set<pid_t> struck = {};  // workers; empty: all that is
  };
  void note_recovery(const Outage& outage, TimeUs next);
  void measure_recoveries(const std::vector<Execution>& ledger);
  void measure_struck(const Outage& outage, const std::vector<Execution>& ledger);
  std::string ended_before(TimeUs at) const;
  void note_start(std::string run);
  double median_rate() const;
  std::set<std::string> left_unsigned() const;
  std::set<std::string> shortened() const;
  void check_database() const;

  LoadOptions options_;
  std::filesystem::path ledger_;
  std::string tools_;
  std::vector<Beside> workers_;
  std::set<pid_t> killed_;   // workers
  std::vector<Start> runs_;  // whose start was acknowledged
  struct Poison {
    std::string how;
    std::string run;
  };
  std::vector<Poison> poison_;  // likewise
  std::set<std::string> tried_again_;
  std::vector<std::string> gone_;  // acknowledged runs that went with lost commits
  int keys_ = 0;
  int batches_ = 0;
  FaultLine line_;
  std::vector<Outage> outages_;  // one for each fault
  std::vector<Lapse> lapses_;
};

// `verify --all`, with arguments that `on` completes, finds nothing but unsigned ends of these runs, which those that
// were killed left; then signs these alone, as an operator would. An end that was added to another run remains a
// finding.
void accept_unsigned(const std::function<Arguments(Arguments)>& on, const std::set<std::string>& left);

// The embedded cluster under the load.
std::string cluster_dsn();
std::string cluster_dsn(const std::filesystem::path& data);  // of one in that folder
pid_t postmaster();

}  // namespace cairn::program
