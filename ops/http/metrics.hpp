// Metrics in Prometheus' text format. Safe from any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "ops/metrics/job_tally.hpp"
#include "ops/metrics/run_tally.hpp"
#include "ops/service/rare_count.hpp"
#include "ops/service/rare_warning.hpp"
#include "storage/feed/feed.hpp"
#include "storage/hooks/hook_table.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "storage/store.hpp"

namespace cairn {

// The tables that metrics_text reads, apart from the store.
struct CountedTables {
  Feed& feed;
  ScheduleTable& schedules;
  HookTable& hooks;
};

// Where the counts of large tables stand.
struct Tallies {
  RunTally runs;
  JobTally jobs;
};

// Counts of the runs and of the jobs a part of bounded size (run_tally.hpp, job_tally.hpp); until all parts have been
// counted once, there is no metric of them. Throws PostgresError and StoreUnavailable.
std::string metrics_text(Store& store, const std::string& dsn, const CountedTables& tables, Tallies& tallies);

// The metrics as they were some seconds ago, so that a scrape costs next to nothing: they are counted again as rarely
// as RareCount says.
class CachedMetrics {
 public:
  // `store` and the tables live longer.
  CachedMetrics(Store& store, std::string dsn, const CountedTables& tables)
      : store_(store), dsn_(std::move(dsn)), tables_(tables) {}

  // While one caller counts, the others get the text before, if there is one. Empty, with a line in the log, when the
  // database is away: what the process itself has counted is to be seen then, too.
  std::string text();

 private:
  std::string counted();

  Store& store_;
  const std::string dsn_;
  const CountedTables tables_;
  std::mutex counting_;
  Tallies tallies_;      // under counting_
  RareWarning warning_;  // likewise
  std::mutex mutex_;
  std::optional<std::string> text_;
  RareCount times_;
};

}  // namespace cairn
