// The scheduler of a process, on a thread of its own: it sleeps until the first schedule is due, at most a second, and
// decides what is due. Every `cairn work` and `cairn serve` has one; they share the schedules by the locks of their
// rows.
// Used by the thread that made it.
#pragma once

#include <memory>

#include "ops/service/database.hpp"

namespace cairn {

class ScheduleThread {
 public:
  // Null where there is no database, or only a replica. REQUIRES: `opened` outlives it.
  static std::unique_ptr<ScheduleThread> start(Opened& opened);

  ~ScheduleThread();  // waits for the end of a pass

 private:
  struct Parts;
  explicit ScheduleThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
