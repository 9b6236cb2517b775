// The thread of a process for what falls due by the clock: starts that have waited, schedules, limits that bind nothing
// any more. It calls each task when its pause is over, one after the other; every `cairn work` and `cairn serve` has
// one. Used by the thread that made it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/service/database.hpp"

namespace cairn {

// The work is called by the thread alone; the processes share what is due by the locks of its rows.
struct DueTask {
  std::string failed;          // for the log (once an hour) if it throws: it is then called again after two seconds
  std::function<long()> work;  // a bounded portion; returns the pause before the next call, in milliseconds
};

class DueThread {
 public:
  using Maker = DueTask (*)(Opened&);

  // Makes a thread with the task of each maker. Null where there is no database, or only a replica. REQUIRES: `opened`
  // outlives it.
  static std::unique_ptr<DueThread> start(Opened& opened, const std::vector<Maker>& makers);

  ~DueThread();  // waits for the end of a call

 private:
  struct Parts;
  explicit DueThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
