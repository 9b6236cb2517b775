// The thread of a process that forgets what limits of queues left behind and what binds nothing any more: rates and
// uses of budgets, also of keys that name someone, and turns of keys without jobs. A look every ten minutes, a page of
// rows at a time; every `cairn work` and `cairn serve` has one, and they do not wait for each other. Used by the thread
// that made it.
#pragma once

#include <memory>

#include "ops/service/database.hpp"
#include "storage/limit_book.hpp"

namespace cairn {

class SpentLimitsThread {
 public:
  // Null where there is no database, or only a replica. REQUIRES: `opened` outlives it.
  static std::unique_ptr<SpentLimitsThread> start(Opened& opened);

  ~SpentLimitsThread();  // waits for the end of a page

 private:
  struct Parts;
  explicit SpentLimitsThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// The rows looked at in one transaction.
inline constexpr std::int32_t spent_page = 1'000;

}  // namespace cairn
