// The thread of a process that begins runs whose starts have waited (engine/start_policy.hpp): it sleeps until the
// first key is due, at most a second, and decides what is due. Every `cairn work` and `cairn serve` has one; they share
// the keys by the locks of their rows. Used by the thread that made it.
#pragma once

#include <memory>

#include "ops/service/database.hpp"

namespace cairn {

class StartThread {
 public:
  // Null where there is no database, or only a replica. REQUIRES: `opened` outlives it.
  static std::unique_ptr<StartThread> start(Opened& opened);

  ~StartThread();  // waits for the end of a pass

 private:
  struct Parts;
  explicit StartThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
