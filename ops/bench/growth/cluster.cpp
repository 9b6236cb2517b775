// Durable steps of a shard on its node of a Citus cluster, in turns with the same on a plain database of that server.
#include <cmath>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/traffic.hpp"
#include "storage/migration/distribution.hpp"
#include "storage/migration/migrator.hpp"

namespace cairn {
namespace {

constexpr int cluster_turns = 3;  // on the cluster, between those on the plain database

bool has_the_extension(const std::string& dsn) {
  return Administration(with_database(dsn, "postgres"), "cairn bench").query("offers_citus").boolean(0, 0);
}

// A cluster of one node, whose tables are distributed: so both turns have the same processes.
Status make_cluster(const std::string& dsn) {
  {
    Administration database(dsn, "cairn bench");
    database.execute("create extension citus");
    database.query("be_coordinator");
    database.query("take_shards_here");
  }
  if (const Result<MigrateReport> report = migrate(dsn, 1); !report) return report.error();
  const Result<DistributeReport> report = distribute(dsn);
  if (!report) return report.error();
  CHECK(!report->tables.empty());
  return Done{};
}

Result<TrafficReport> steps_on(const std::string& dsn, BenchServer& server, const Traffic& traffic, bool is_cluster) {
  FreshDatabase database(dsn);
  if (is_cluster)
    if (const Status made = make_cluster(database.dsn()); !made) return made.error();
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  return measure_traffic(server, database, *opened, traffic);
}

}  // namespace

Result<Json> measure_cluster(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  if (!has_the_extension(dsn))
    return Json{{"left_out", "Expected a server that has the extension citus, as `ops/cluster bench` starts one."}};
  Traffic traffic;
  traffic.workers = options.workers > 0 ? options.workers : 2;
  traffic.extent = {options.runs, options.seconds};
  Spent sums[2];
  Json table = Json::array();
  for (int turn = 0; turn <= 2 * cluster_turns; ++turn) {
    const bool is_cluster = turn % 2 == 1;
    const Result<TrafficReport> report = steps_on(dsn, server, traffic, is_cluster);
    if (!report) return report.error();
    sums[is_cluster] = both(sums[is_cluster], report->spent);
    table.push_back({{"on", is_cluster ? "cluster" : "plain"}, {"steps_per_s", std::round(report->spent.rate())}});
  }
  return Json{{"value", std::round(sums[true].rate())},
              {"unit", "steps/s"},
              {"limit", std::round(sums[false].rate())},
              {"limit_is", "the same on a plain database of the server, in turns"},
              {"ratio", rounded(sums[true].rate() / sums[false].rate(), 1'000)},
              {"workers", traffic.workers},
              {"cluster", per_step(sums[true])},
              {"plain", per_step(sums[false])},
              {"table", std::move(table)}};
}

}  // namespace cairn
