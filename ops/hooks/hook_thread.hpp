// The reader and the sender of hooks of a process, each on a thread of its own: one reads the feed for hooks whose turn
// it is, the other sends what is due. Every `cairn work` and `cairn serve` has one; they share the hooks and the
// notices through the database. Used by the thread that made it.
#pragma once

#include <memory>

#include "ops/service/database.hpp"

namespace cairn {

class HookThread {
 public:
  // Null where there is no database, or only a replica. REQUIRES: `opened` outlives it.
  static std::unique_ptr<HookThread> start(Opened& opened);

  // Waits a moment for what is under way, and gives back what is not answered by then.
  ~HookThread();

 private:
  class Reading;
  class Sending;
  struct Parts;
  explicit HookThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Whether commands of hooks may be run: only where the database is this machine's own embedded one.
bool may_run_commands(const std::string& dsn);

}  // namespace cairn
