// The keys of starts in PostgreSQL. Safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {

class StartTable {
 public:
  // As ScheduleTable. Decides on connections of its own, which it opens when there is something to decide: meanwhile
  // the caller asks the store, too. Reads on those of `placements`, which outlives it.
  StartTable(Placements& placements, PgConnectOptions options, const std::string& identity, std::int64_t patience_ms);

  // As StartBook says; they also throw PostgresError.
  void decide_named(std::vector<StartKey> keys, const DecideStarts& decide);
  std::size_t decide_due(int limit, const DecideStarts& decide);
  NextDue next_due();
  std::int64_t count(std::int64_t most);
  std::vector<WaitingStart> starts(const StartKey& of, std::int64_t first, std::int64_t last);
  std::optional<FoundStart> start_of_run(const RunId& run);
  std::vector<StartKeyRow> keys(const std::string& graph, const StartKey& after, std::int32_t limit);
  void forget_refused(TimeUs before_us);
  void recall();

  void give_up() { deciding_.give_up(); }

 private:
  Placements& placements_;
  PostgresPool deciding_;
};

}  // namespace cairn
