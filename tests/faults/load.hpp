// The load of the fault tests: plans on real worker processes, and a ledger kept outside the engine. A tool notes each
// call in it, the client each run whose start was acknowledged; at the end it is compared with the events.
// Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/ops/program.hpp"

namespace cairn::program {

// Whether the server lost what it had not written to disk. Claims do not wait for the disk (decision 0010): a lost
// claim is made again, and its attempt executed again.
enum class Server { remembers, forgets };

class Load {
 public:
  // Workers reach the database by `dsn`, all else by the cluster's own; "": workers too. A sub-goal takes `seconds`.
  Load(std::string name, int workers, std::string dsn = "", const std::string& seconds = "0.1");

  // Starts a plan of five sub-goals exactly once: under a key, repeated until the start is acknowledged.
  void start_plan();
  void start_plans(int count);

  Beside& worker(std::size_t n) { return workers_[n % workers_.size()]; }
  void replace_worker(std::size_t n);  // SIGKILL, and another one in its place

  // Each time: starts two plans, calls `fault`, pauses; so there is always work in progress.
  void under(int times, std::chrono::milliseconds pause, const std::function<void()>& fault);
  void wait_until_ended();
  bool have_ended() const;

  // Drains the workers, then expects: each acknowledged run exists once and is done; each sub-goal is closed once and
  // in the ledger; each attempt was executed at most once, except those whose first end was refused because the server
  // had lost their claim; no attempt's end is recorded twice. Prints one line of the table.
  void expect_nothing_lost_or_doubled(const std::string& fault, int injected, Server server = Server::remembers);

  std::int64_t stale() const { return stale_; }  // late writes that were refused, as the drained workers report

 private:
  struct Counted {
    int closed = 0;
    int twice = 0;
    int lost_attempts = 0;
  };
  Counted count_events(const std::string& run) const;
  Arguments work() const;

  std::string name_;
  std::string dsn_;
  std::filesystem::path ledger_;
  std::string tools_;
  std::vector<Beside> workers_;
  std::vector<std::string> runs_;  // whose start was acknowledged
  int keys_ = 0;
  int told_again_ = 0;
  std::int64_t stale_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The embedded cluster under the load.
std::string cluster_dsn();
pid_t postmaster();

}  // namespace cairn::program
