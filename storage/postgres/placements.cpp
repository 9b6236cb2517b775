#include "storage/postgres/placements.hpp"

#include <array>
#include <chrono>
#include <spdlog/spdlog.h>
#include <thread>
#include <utility>

#include "storage/clock.hpp"

namespace cairn {
namespace {

constexpr int moves_max = 20;
constexpr std::chrono::milliseconds move_pause{100};
constexpr auto placement_columns = std::to_array<std::string_view>({"shard", "name", "citus_shard", "host", "port"});

// The hot ones, and leave to lock the tables of a shard.
std::string_view settings_of_nodes() {
  static const std::string settings = std::string(hot_settings) + "SET citus.enable_manual_changes_to_shards = on; ";
  return settings;
}

}  // namespace

Placements::Placements(PgConnectOptions options, int connections_max, std::int64_t patience_ms,
                       std::int64_t silence_min_ms)
    : options_(std::move(options)),
      connections_max_(connections_max),
      patience_ms_(patience_ms),
      silence_min_ms_(silence_min_ms),
      whole_(options_, connections_max, patience_ms, silence_min_ms) {}

bool Placements::are_distributed() {
  if (kind_ != Kind::unknown) return kind_ == Kind::cluster;
  const std::lock_guard lock(asking_);
  if (kind_ != Kind::unknown) return kind_ == Kind::cluster;
  const bool is_cluster = whole_.leads_to_cluster();
  if (is_cluster) {
    shards_ = whole_.query("schema_version").int4(0, 1);
    read();
  }
  kind_ = is_cluster ? Kind::cluster : Kind::one_database;
  return is_cluster;
}

// Asked of the cluster's metadata, which every node has.
void Placements::read() {
  const PgResult rows = whole_.query_widely("placements", PgParameters().add(shards_));
  rows.expect_columns(placement_columns);
  using Suffixes = std::map<std::string, std::int64_t, std::less<>>;
  std::map<Shard, Suffixes> suffixes;
  std::map<Shard, std::pair<std::string, std::string>> nodes;
  for (int row = 0; row < rows.rows(); ++row) {
    const Shard shard = rows.int4(row, 0);
    const std::string name(rows.text(row, 1));
    suffixes[shard][name] = rows.int8(row, 2);
    if (name == "run") nodes[shard] = {std::string(rows.text(row, 3)), std::string(rows.text(row, 4))};
  }
  if (std::ssize(nodes) != shards_)
    throw PostgresError("XX000", "expected " + std::to_string(shards_) + " shards of the table run on nodes of the " +
                                     "cluster, but found " + std::to_string(nodes.size()));
  const std::lock_guard lock(mutex_);
  std::map<std::int64_t, std::shared_ptr<const Placement>> by_citus_shard;
  std::vector<std::shared_ptr<const Placement>> by_shard;
  for (auto& [shard, tables] : suffixes) {
    std::shared_ptr<const Placement>& placement = by_citus_shard[tables.at("run")];
    if (placement == nullptr)
      placement = std::make_shared<Placement>(Placement{&pool_of(nodes.at(shard).first, nodes.at(shard).second),
                                                        std::make_unique<ShardTables>(std::move(tables))});
    by_shard.push_back(placement);
  }
  by_shard_ = std::move(by_shard);
}

void Placements::read_again() {
  try {
    read();
  } catch (const std::exception& failure) {
    spdlog::warn("Expected the cluster to say where its shards are, but: {}", failure.what());
  }
}

bool Placements::Moves::is_one_more(const PostgresError& refused) {
  if (refused.sqlstate() != shard_is_elsewhere || ++count_ > moves_max) return false;
  if (count_ > 1) std::this_thread::sleep_for(move_pause);  // it moves on, or the metadata comes to this node later
  return true;
}

// REQUIRES: mutex_ is held.
PostgresPool& Placements::pool_of(const std::string& host, const std::string& port) {
  std::unique_ptr<PostgresPool>& pool = pools_[{host, port}];
  if (pool == nullptr) {
    PgConnectOptions options = options_;
    options.overrides.emplace_back("host", host);
    options.overrides.emplace_back("hostaddr", "");
    options.overrides.emplace_back("port", port);
    pool = std::make_unique<PostgresPool>(std::move(options), connections_max_, patience_ms_, silence_min_ms_);
    pool->set_settings(settings_of_nodes());
    if (!identity_.empty()) pool->expect_identity(identity_);
    if (has_given_up_) pool->give_up();
  }
  return *pool;
}

std::shared_ptr<const Placements::Placement> Placements::placement_of(Shard shard) {
  const std::lock_guard lock(mutex_);
  return by_shard_.at(static_cast<std::size_t>(shard));
}

std::vector<Shard> Placements::one_shard_of_each() {
  if (!are_distributed()) return {0};
  const std::lock_guard lock(mutex_);
  std::vector<Shard> first;
  std::map<const Placement*, Shard> seen;
  for (Shard shard = 0; shard < shards_; ++shard)
    if (seen.emplace(by_shard_.at(static_cast<std::size_t>(shard)).get(), shard).second) first.push_back(shard);
  return first;
}

std::vector<PgResult> Placements::query_each(std::string_view name, const PgParameters& parameters) {
  std::vector<PgResult> results;
  for (const Shard shard : one_shard_of_each()) results.push_back(query(shard, name, parameters));
  return results;
}

std::vector<PgResult> Placements::query_each_widely(std::string_view name, const PgParameters& parameters) {
  std::vector<PgResult> results;
  for (const Shard shard : one_shard_of_each()) results.push_back(query_widely(shard, name, parameters));
  return results;
}

std::vector<PgConnectOptions> Placements::listened_to() {
  std::vector<PgConnectOptions> all = {whole().options()};
  const std::lock_guard lock(mutex_);
  for (const auto& [node, pool] : pools_) all.push_back(pool->options());
  return all;
}

void Placements::expect_identity(const std::string& identity) {
  whole_.expect_identity(identity);
  const std::lock_guard lock(mutex_);
  identity_ = identity;
  for (const auto& [node, pool] : pools_) pool->expect_identity(identity);
}

void Placements::give_up() {
  whole_.give_up();
  const std::lock_guard lock(mutex_);
  has_given_up_ = true;
  for (const auto& [node, pool] : pools_) pool->give_up();
}

}  // namespace cairn
