// A search for runs that stand still: it goes through all runs in portions, in the order of shards and ids, because no
// index has when a run last moved (each step would change it). Safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/hooks/hook_rows.hpp"
#include "storage/postgres/placements.hpp"

namespace cairn {

struct StalledQuestion {
  Shard shard = 0;  // where the search goes on
  RunId after = {};
  TimeUs moved_before = 0;  // the last event is no later than this
  TimeUs moved_after = 0;   // and later than this: older ones have stood for longer than anyone waits for them
  std::string graph = {};   // "": any
  Tags tags = {};
};

struct StalledAnswer {
  std::vector<NoticeId> found;
  Shard shard = 0;  // where the search goes on
  RunId after = {};
  bool is_end = false;  // all shards were searched; it begins at the first one again
};

class StalledRuns {
 public:
  StalledRuns(std::string dsn, std::int32_t shards, const std::string& identity, std::int64_t patience_ms = 10'000);

  // Looks at about `limit` runs. Paused runs and those that have ended stand still by intent. Throws StoreUnavailable
  // and PostgresError as the store does.
  StalledAnswer search(const StalledQuestion& question, std::int32_t limit);

 private:
  const std::int32_t shards_;
  Placements placements_;
};

}  // namespace cairn
