// The end of a command that has started a run: it prints the run's id, and with --wait executes the run and prints its
// outcome. Used from one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ops/commands/command_options.hpp"
#include "ops/service/database.hpp"

namespace cairn {

struct Waiting {
  bool wait = false;
  bool no_work = false;
  std::optional<std::int64_t> timeout_us = {};  // then the waiting ends, and the run goes on
};

// The end of a waiting that begins with it; none without --timeout.
class Deadline {
 public:
  explicit Deadline(const Waiting& waiting) : timeout_us_(waiting.timeout_us) {}
  bool is_over() const {
    return timeout_us_ && std::chrono::steady_clock::now() - began_ >= std::chrono::microseconds(*timeout_us_);
  }

 private:
  const std::optional<std::int64_t> timeout_us_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The sentence on stderr that `what`, a run or a batch, has not ended in time. REQUIRES: there is a --timeout.
void print_late(const Waiting& waiting, std::string_view what);

// --timeout.
CLI::Option* add_timeout(CLI::App& command, Waiting& waiting);
// --wait, with what the help says of it, --no-work, --timeout and --tools.
void add_waiting(CommandLine& line, CLI::App& command, const std::string& wait_says, Waiting& waiting);

// The finding of `waiting` is a run that failed, was aborted or was interrupted here.
Exit print_started(Opened& opened, const Settings& settings, const Started& started, const Waiting& waiting);

// Waits until the run has ended, is paused or only an answer or a signal moves it on, and prints what became of it.
// After a few seconds, and when it is late, a line on stderr says what it waits for; again when that has changed, and
// every ten seconds, then with how long this has waited.
Exit wait_and_print(Opened& opened, const Settings& settings, const RunId& run, const Waiting& waiting);

// A sentence on stderr, if that is a terminal, when no worker is alive that could go on with a run.
void hint_at_workers(Store& store);

}  // namespace cairn
