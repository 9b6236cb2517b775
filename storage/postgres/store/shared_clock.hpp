// The database's clock as this process knows it: asked again every five seconds, and carried on in between. Safe from
// any thread.
#pragma once

#include <mutex>

#include "storage/clock.hpp"
#include "storage/postgres/connection_pool.hpp"

namespace cairn {

class SharedClock {
 public:
  // REQUIRES: `pool` outlives it.
  explicit SharedClock(PostgresPool& pool) : pool_(pool) {}

  TimeUs now();

 private:
  void check();

  PostgresPool& pool_;
  std::mutex mutex_;
  TimeUs checked_at_us_ = 0;
  DatabaseClock clock_;
};

}  // namespace cairn
