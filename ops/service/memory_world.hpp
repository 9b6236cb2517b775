// The world of tests: a store in memory and a worker, whose time is virtual. It skips what no one works in: where
// nothing is executed and `may_skip` says so, the clock goes forward to the next step that is due. One at a time in a
// process, as the clock is the process's. Safe from any thread.
#pragma once

#include <functional>
#include <memory>

#include "ops/service/database.hpp"

namespace cairn {

class MemoryWorld {
 public:
  // Refuses as open_catalogue.
  static Result<std::unique_ptr<MemoryWorld>> open(const Settings& settings);
  ~MemoryWorld();
  MemoryWorld(const MemoryWorld&) = delete;
  MemoryWorld& operator=(const MemoryWorld&) = delete;

  Opened& opened();
  // The worker begins, and time is skipped from now on, until end().
  void begin(std::function<bool()> may_skip);
  void end();
  void skip(TimeUs by_us);
  bool has_lost() const;  // a step that a dead session held, which no other one has taken over yet
  bool rests() const;     // no step is executed or due: every run has ended, or waits for what no clock brings
  // As if its process had died: what it holds is lost. False: there is no such session.
  bool crash(SessionId session);

 private:
  struct Parts;
  explicit MemoryWorld(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
