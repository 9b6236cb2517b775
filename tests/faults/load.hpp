// Plans under way on real worker processes, and a ledger outside of the engine: what a tool wrote down when it was
// called, and what a client was told had been started. At the end the ledger is compared with the events.
// Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/ops/program.hpp"

namespace cairn::program {

// Whether the server forgot what it had not written to disk. Claims do not wait for the disk (decision 0010): one that
// was forgotten is claimed again, and the attempt executed again.
enum class Server { remembers, forgets };

class Load {
 public:
  // Workers reach the database by `dsn`, all else by the cluster's own; "": workers too. A sub-goal takes `seconds`.
  Load(std::string name, int workers, std::string dsn = "", const std::string& seconds = "0.1");

  // Starts a plan of five sub-goals as a client does that must not start one twice: under a key, again until told.
  void start_plan();
  void start_plans(int count);

  Beside& worker(std::size_t n) { return workers_[n % workers_.size()]; }
  void replace_worker(std::size_t n);  // SIGKILL, and another one in its place

  // Each time two more plans, `fault`, and a pause; so there is always something under way.
  void under(int times, std::chrono::milliseconds pause, const std::function<void()>& fault);
  void wait_until_ended();
  bool have_ended() const;

  // Drains the workers; then: each run that a client was told of is there, once, and done; each sub-goal closed once,
  // and in the ledger; each attempt was executed once at most, but for those whose first end was refused because the
  // server had forgotten their claim; no attempt's end is recorded twice. One line of the table.
  void expect_nothing_lost_or_doubled(const std::string& fault, int injected, Server server = Server::remembers);

  std::int64_t stale() const { return stale_; }  // late writes that were refused, told by the drained workers

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
  std::vector<std::string> runs_;  // a client was told of them
  int keys_ = 0;
  int told_again_ = 0;
  std::int64_t stale_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The embedded cluster that all of this runs on.
std::string cluster_dsn();
pid_t postmaster();

}  // namespace cairn::program
