#include "storage/migration/distribution.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <thread>

#include "engine/embedded.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn {
namespace {

constexpr std::int64_t at_work_ms = 30'000;
// A connection that was closed just now is seen for a moment.
constexpr int connected_polls = 20;
constexpr std::chrono::milliseconds connected_pause{100};
// Citus puts a shard of ours where its hash falls: with few Citus shards, several of ours share one and move together.
constexpr std::int32_t citus_shards_per_shard = 4;
constexpr std::int32_t citus_shards_min = 32;
constexpr std::int32_t citus_shards_max = 256;

// Keyed by shard. A run's row, its jobs and its events change in one transaction, so they lie together.
const std::set<std::string, std::less<>> tables_of_runs = {
    "run",  "event",   "job",      "snapshot", "question",   "blob", "permit",   "tombstone", "import",
    "home", "erasing", "progress", "feed",     "feed_place", "rate", "key_turn", "budget_use"};
// Read by statements about a shard, or needed wherever a program connects; small, and seldom written, but for `worker`,
// which each session writes once in a while. Each node has a copy.
const std::set<std::string, std::less<>> tables_of_all = {"graph",    "queue",     "worker",       "token",
                                                          "identity", "migration", "feed_consumer"};
// Written and read apart from runs: one node keeps them, all can ask.
const std::set<std::string, std::less<>> tables_of_one = {
    "checkpoint", "passage",   "schedule",      "schedule_note", "saved_view", "link_key",
    "hook",       "hook_note", "hook_delivery", "queue_change",  "start_key",  "waiting_start"};

std::string_view cluster_file(std::string_view name) {
  for (const EmbeddedFile& file : schema_files())
    if (file.name == name) return file.text;
  CHECK(false);
}

Status refuse_at_work(Administration& database) {
  const std::vector<SessionAtWork> sessions = sessions_at_work(database, at_work_ms);
  if (sessions.empty()) return Done{};
  return Error{Code::conflict, "Expected no worker at work while the tables are distributed, but session " +
                                   std::to_string(sessions.front().session) + " on " + sessions.front().host +
                                   " is, and " + std::to_string(sessions.size() - 1) + " more: end them first."};
}

// They have no session: `cairn serve` goes on with plans and places of the tables as they were.
Status refuse_connected(Administration& database) {
  for (int polls = 1;; ++polls) {
    database.query("forget_activity");
    const AdminRows rows = database.query("programs_connected");
    rows.expect_columns({"name", "connections"});
    if (rows.size() == 0) return Done{};
    if (polls == connected_polls)
      return Error{Code::conflict, "Expected no program of Cairn connected while the tables are distributed, but " +
                                       rows.text(0, 1) + " connections are named \"" + rows.text(0, 0) + "\"" +
                                       (rows.size() > 1 ? ", and there are others" : "") +
                                       ": end `cairn serve`, workers and commands first."};
    std::this_thread::sleep_for(connected_pause);
  }
}

struct Undistributed {
  std::vector<std::string> tables;
  bool is_in_use = false;  // what programs at work may read or write is among them; a new table is empty
};

Undistributed find_undistributed(Administration& database) {
  const AdminRows rows = database.query("undistributed_tables");
  rows.expect_columns({"name", "is_filled"});
  Undistributed found;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string& table = rows.text(row, 0);
    CHECK(tables_of_runs.contains(table) || tables_of_all.contains(table) || tables_of_one.contains(table));
    found.tables.push_back(table);
    found.is_in_use = found.is_in_use || table == "run" || rows.boolean(row, 1);
  }
  return found;
}

void distribute_table(Administration& database, const std::string& table, std::int32_t citus_shards) {
  if (table == "run")
    database.query("distribute_runs", {std::to_string(citus_shards)});
  else if (tables_of_runs.contains(table))
    database.query("distribute_table", {table});
  else if (tables_of_all.contains(table))
    database.query("reference_table", {table});
  else
    database.query("keep_table_here", {table});
  if (!tables_of_one.contains(table)) database.query("drop_local_rows", {table});
}

// In one transaction. `run` goes first: the others follow it.
Result<std::vector<std::string>> distribute_tables(Administration& database, std::int32_t shards) {
  auto [tables, is_in_use] = find_undistributed(database);
  if (tables.empty()) return tables;
  if (is_in_use) {
    if (const Status idle = refuse_at_work(database); !idle) return idle.error();
    if (const Status alone = refuse_connected(database); !alone) return alone.error();
  }
  const auto run = std::find(tables.begin(), tables.end(), "run");
  if (run != tables.end()) std::rotate(tables.begin(), run, run + 1);
  database.execute("set local citus.multi_shard_modify_mode to 'sequential'");
  if (std::find(tables.begin(), tables.end(), "progress") != tables.end())
    database.execute("alter table cairn.progress set logged");  // a table that is not logged cannot move online
  for (const std::string& table : tables)
    distribute_table(database, table, std::clamp(shards * citus_shards_per_shard, citus_shards_min, citus_shards_max));
  database.execute(std::string(cluster_file("cluster/hold_shard.sql")));
  database.execute(std::string(cluster_file("roles.sql")));
  return tables;
}

struct Node {
  std::string host;
  std::string port;
  auto operator<=>(const Node&) const = default;
};

// Our shards on each node, by the Citus shard that has them.
using Layout = std::map<Node, std::map<std::int64_t, std::int64_t>>;

Layout layout_of(Administration& database, std::int32_t shards) {
  Layout layout;
  const AdminRows nodes = database.query("cluster_nodes");
  nodes.expect_columns({"host", "port", "is_here"});
  for (std::size_t row = 0; row < nodes.size(); ++row) layout[{nodes.text(row, 0), nodes.text(row, 1)}];
  const AdminRows rows = database.query("placements", {std::to_string(shards)});
  rows.expect_columns({"shard", "name", "citus_shard", "host", "port"});
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.text(row, 1) == "run") ++layout[{rows.text(row, 3), rows.text(row, 4)}][rows.number(row, 2)];
  return layout;
}

std::int64_t count_of(const std::map<std::int64_t, std::int64_t>& shards) {
  std::int64_t count = 0;
  for (const auto& [citus_shard, ours] : shards) count += ours;
  return count;
}

// One move from the fullest node to the emptiest, if one makes them more even.
bool even_out(Administration& database, const Layout& layout, bool is_in_use) {
  const auto fewer = [](const auto& a, const auto& b) { return count_of(a.second) < count_of(b.second); };
  const auto [emptiest, fullest] = std::minmax_element(layout.begin(), layout.end(), fewer);
  const std::int64_t more = count_of(fullest->second) - count_of(emptiest->second);
  for (const auto& [citus_shard, ours] : fullest->second) {
    if (2 * ours > more + 1 || more < 2) continue;
    database.query("move_placement", {std::to_string(citus_shard), fullest->first.host, fullest->first.port,
                                      emptiest->first.host, emptiest->first.port, is_in_use ? "true" : "false"});
    return true;
  }
  return false;
}

Result<DistributeReport> distribute(Administration& database) {
  const Result<SchemaFound> found = find_schema(database);
  if (!found) return found.error();
  if (found->version != newest_schema())
    return Error{Code::not_found, "Expected the schema cairn of version " + std::to_string(newest_schema()) +
                                      " in the database, but found version " + std::to_string(found->version) +
                                      ": `cairn migrate` comes first."};
  if (!database.query("has_citus").boolean(0, 0))
    return Error{Code::not_found, "Expected the extension citus in the database, but it has none."};
  if (database.query("cluster_nodes").size() == 0)
    return Error{Code::conflict, "Expected nodes that take shards, but the cluster has none: citus_add_node adds one."};
  DistributeReport report;
  database.begin();
  database.query("lock_migrations");
  Result<std::vector<std::string>> tables = distribute_tables(database, found->shards);
  tables ? database.commit() : database.roll_back();
  if (!tables) return tables.error();
  report.tables = *std::move(tables);
  Layout layout = layout_of(database, found->shards);
  const bool is_in_use = report.tables.empty();
  for (; even_out(database, layout, is_in_use); layout = layout_of(database, found->shards)) ++report.moved;
  for (const auto& [node, shards] : layout) report.shards[node.host + ":" + node.port] = count_of(shards);
  return report;
}

Status reach_node(const std::string& dsn, const Node& node) {
  try {
    const PgConnection reached({.dsn = dsn,
                                .application = "cairn doctor",
                                .overrides = {{"host", node.host}, {"hostaddr", ""}, {"port", node.port}}});
    return Done{};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, failure.what()};
  }
}

}  // namespace

std::vector<ClusterNode> cluster_nodes(const std::string& dsn) {
  Administration database(dsn, "cairn doctor");
  std::vector<ClusterNode> nodes;
  if (!database.query("are_tables_distributed").boolean(0, 0)) return nodes;
  const Result<SchemaFound> found = find_schema(database);
  if (!found) return nodes;
  Layout layout = layout_of(database, found->shards);
  const AdminRows rows = database.query("cluster_nodes");
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Node node{rows.text(row, 0), rows.text(row, 1)};
    nodes.push_back({node.host, node.port, count_of(layout[node]), reach_node(dsn, node), rows.boolean(row, 2)});
  }
  return nodes;
}

Result<bool> is_citus_cluster(const std::string& dsn) {
  try {
    Administration database(dsn, "cairn migrate");
    return database.query("has_citus").boolean(0, 0) && database.query("cluster_nodes").size() > 0;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to reach the database, but: ") + failure.what()};
  }
}

Result<std::vector<std::string>> undistributed_tables(const std::string& dsn) {
  try {
    Administration database(dsn, "cairn migrate");
    if (!database.query("has_citus").boolean(0, 0) || database.query("cluster_nodes").size() == 0)
      return std::vector<std::string>();
    const Result<SchemaFound> found = find_schema(database);
    if (!found) return found.error();
    return found->version == 0 ? std::vector<std::string>() : find_undistributed(database).tables;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to look at the cluster's tables, but: ") + failure.what()};
  }
}

Result<DistributeReport> distribute(const std::string& dsn) {
  try {
    Administration database(dsn, "cairn distribute", no_limit);
    return distribute(database);
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to distribute the tables, but: ") + failure.what()};
  }
}

}  // namespace cairn
