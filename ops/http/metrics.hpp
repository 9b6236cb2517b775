// Metrics in Prometheus' text format. Safe from any thread.
#pragma once

#include <mutex>
#include <string>

#include "ops/metrics/run_tally.hpp"
#include "ops/service/rare_count.hpp"
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

// Counts every job, and of the runs a part of bounded size (run_tally.hpp); until all parts have been counted once,
// there is no metric of runs. Throws PostgresError and StoreUnavailable.
std::string metrics_text(Store& store, const std::string& dsn, const CountedTables& tables, RunTally& runs);

// The metrics as they were some seconds ago, so that a scrape costs nothing, however many jobs there are: they are
// counted again as rarely as RareCount says.
class CachedMetrics {
 public:
  // `store` and the tables live longer.
  CachedMetrics(Store& store, std::string dsn, const CountedTables& tables)
      : store_(store), dsn_(std::move(dsn)), tables_(tables) {}

  // While one caller counts, the others get the text before, if there is one. Throws as metrics_text.
  std::string text();

 private:
  std::string counted();

  Store& store_;
  const std::string dsn_;
  const CountedTables tables_;
  std::mutex counting_;
  RunTally runs_;  // under counting_
  std::mutex mutex_;
  std::string text_;
  RareCount times_;
};

}  // namespace cairn
