// Very many copies of one real run, made by the server: for measurements on full tables. Not thread-safe.
#pragma once

#include <cstdint>

#include "engine/id.hpp"
#include "ops/bench/rig/server.hpp"

namespace cairn {

class Copies {
 public:
  // `count` runs like `sample`, with its events and jobs and a hash chain each; then the tables are vacuumed. `tagged`:
  // run n has the tags batch = n / 1000 and team = n % 10. REQUIRES: one shard. Throws PostgresError.
  Copies(FreshDatabase& database, const RunId& sample, std::int64_t count, bool tagged = false);

  std::int64_t count() const { return count_; }
  RunId id(std::int64_t n) const;  // n from 0

 private:
  std::int64_t count_;
  RunId base_;
};

}  // namespace cairn
