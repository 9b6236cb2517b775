// Very many copies of one real run, made by the server: for measurements on full tables. Not thread-safe.
#pragma once

#include <cstdint>

#include "engine/id.hpp"
#include "engine/result.hpp"
#include "ops/bench/rig/server.hpp"

namespace cairn {

struct Copying {
  bool tagged = false;       // run n has the tags batch = n / 1000 and team = n % 10
  bool leaves_room = false;  // stops where the server's disk would fill up (leaves_room())
};

class Copies {
 public:
  // `count` runs like `sample`, with its events and jobs and a hash chain each; then the tables are vacuumed. REQUIRES:
  // one shard. Throws PostgresError.
  Copies(FreshDatabase& database, const RunId& sample, std::int64_t count, Copying how = {});

  // Refuses `limit` where the disk stopped it: there are fewer.
  const Status& are_all() const { return are_all_; }
  std::int64_t count() const { return count_; }
  RunId id(std::int64_t n) const;  // n from 0

 private:
  std::int64_t count_;
  RunId base_;
  Status are_all_ = Done{};
};

// About as many bytes as so many copies of a run of ten events take in tables and indexes.
std::int64_t bytes_of_copies(std::int64_t count);

}  // namespace cairn
