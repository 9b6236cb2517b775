#include "ops/answers/doctor.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "ops/answers/checkpoint_facts.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/keeping/overdue.hpp"
#include "ops/service/database.hpp"
#include "ops/service/kept_folders.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "storage/hooks/hook_table.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/schedules/schedule_table.hpp"

namespace cairn {
namespace {

constexpr std::int32_t unowned_max = 100;
constexpr std::int64_t overdue_us = 3'600'000'000;

ServerFacts read_server(Administration& database) {
  const AdminRows row = database.query("doctor_server");
  const auto text = [&row](std::size_t column) { return row.text(0, column); };
  return {.version_number = static_cast<std::int32_t>(row.number(0, 0)),
          .version = text(1),
          .fsync = text(2),
          .synchronous_commit = text(3),
          .full_page_writes = text(4),
          .autovacuum = text(5),
          .track_activities = text(6),
          .track_counts = text(7),
          .track_io_timing = text(8),
          .connections_max = static_cast<std::int32_t>(row.number(0, 9)),
          .connections = row.number(0, 10),
          .user = text(11),
          .sees_all = row.boolean(0, 12),
          .encoding = text(13),
          .timeline = row.number(0, 14)};
}

std::vector<HolderFacts> read_holders(Administration& database) {
  const AdminRows rows = database.query("doctor_holders");
  rows.expect_columns({"kind", "pid", "who", "transactions", "seconds"});
  std::vector<HolderFacts> holders;
  for (std::size_t row = 0; row < rows.size(); ++row)
    holders.push_back(
        {rows.text(row, 0), rows.text(row, 1), rows.text(row, 2), rows.number(row, 3), rows.number(row, 4)});
  return holders;
}

std::vector<RoleFacts> read_roles(Administration& database) {
  const AdminRows rows = database.query("doctor_rights");
  rows.expect_columns({"role", "", ""});
  std::vector<RoleFacts> roles;
  for (std::size_t row = 0; row < rows.size(); ++row)
    roles.push_back({rows.text(row, 0), rows.boolean(row, 1), rows.text(row, 2)});
  return roles;
}

std::vector<TableFacts> read_tables(Administration& database) {
  const AdminRows rows = database.query("doctor_tables");
  rows.expect_columns({"name", "live", "dead", "vacuumed", "is_off"});
  std::vector<TableFacts> tables;
  for (std::size_t row = 0; row < rows.size(); ++row)
    tables.push_back(
        {rows.text(row, 0), rows.number(row, 1), rows.number(row, 2), rows.number(row, 3), rows.boolean(row, 4)});
  return tables;
}

void add_tables(const std::vector<TableFacts>& more, std::vector<TableFacts>& tables) {
  for (const TableFacts& table : more) {
    const auto same =
        std::find_if(tables.begin(), tables.end(), [&table](const TableFacts& one) { return one.name == table.name; });
    if (same == tables.end()) {
      tables.push_back(table);
      continue;
    }
    same->live += table.live;
    same->dead += table.dead;
    same->vacuumed_seconds_ago = std::max(same->vacuumed_seconds_ago, table.vacuumed_seconds_ago);
    same->autovacuum_off = same->autovacuum_off || table.autovacuum_off;
  }
}

// The rows of runs lie on the nodes of a cluster, and what keeps vacuum from them is there.
void read_nodes(const std::string& dsn, DoctorFacts& facts) {
  facts.nodes = cluster_nodes(dsn);
  if (facts.nodes.empty() || !facts.schema) return;
  facts.schema->tables.clear();
  for (const ClusterNode& node : facts.nodes) {
    if (!node.reached) continue;
    Administration database(with_host(dsn, node.host, node.port), "cairn doctor");
    database.execute("set citus.override_table_visibility to off");  // it hides the tables of shards
    add_tables(read_tables(database), facts.schema->tables);
    if (node.is_here) continue;
    for (HolderFacts& holder : read_holders(database)) {
      holder.node = node.host + ":" + node.port;
      facts.holders.push_back(std::move(holder));
    }
  }
}

ArchiveFacts read_archive(Administration& database) {
  const AdminRows row = database.query("doctor_archive");
  row.expect_columns({"", "", "", "", "", ""});
  return {row.boolean(0, 0), row.boolean(0, 1), row.text(0, 2), row.number(0, 3), row.number(0, 4), row.number(0, 5)};
}

TimeUs here_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// The database is taken to have read its clock in the middle of the round trip.
void read_clocks(Administration& database, DoctorFacts& facts) {
  const TimeUs asked = here_us();
  facts.database_us = database.query("database_time").number(0, 0);
  facts.here_us = asked + (here_us() - asked) / 2;
}

void read_keeping(Store& store, const std::string& dsn, SchemaFacts& facts) {
  KeepPolicies policies(store);
  for (const KeepPolicy& policy : policies.current()) facts.keeping.push_back(policy.graph);
  RunArchive archive(dsn);
  facts.overdue = overdue_graphs(store, archive, policies.current(), overdue_us);
}

void read_hooks(const std::string& dsn, const std::string& identity, SchemaFacts& facts) {
  HookTable table(dsn, identity);
  facts.hooks = table.counts();
  facts.hook_delays = table.delays();
  for (const HookRow& row : table.hooks()) {
    if (!row.paused_at) continue;
    facts.paused_hooks.push_back(row.name);
    std::erase_if(facts.hooks, [&row](const HookCounts& counts) { return counts.hook == row.name; });
  }
}

// The facts that only a schema of this version has.
void read_schema(Administration& database, const std::string& dsn, const CheckpointOptions& checkpoints,
                 DoctorFacts& facts) {
  const Result<SchemaFound> found = find_schema(database);
  if (!found) {
    facts.schema_fault = found.error().message;
    return;
  }
  facts.schema_version = found->version;
  facts.shards = found->shards;
  bool is_replica = false;
  const Result<std::unique_ptr<Store>> store = open_store_to_read(dsn, store_connections, is_replica);
  if (!store) {
    facts.schema_fault = store.error().message;
    return;
  }
  facts.schema =
      SchemaFacts{read_roles(database),
                  read_tables(database),
                  (*store)->sessions().all(),
                  (*store)->sessions().held_counts(),
                  static_cast<std::int64_t>((*store)->sessions().scan_held(0, 0, unowned_max).unowned.size()),
                  read_archive(database),
                  read_checkpoint_facts(database, CheckpointFiles(checkpoints.folder, (*store)->identity())),
                  Feed(dsn, found->shards, (*store)->identity()).consumers(),
                  database.query("doctor_login").text(0, 0)};
  read_keeping(**store, dsn, *facts.schema);
  facts.schema->next_schedule = ScheduleTable(dsn, (*store)->identity()).next_due().at_us;
  read_hooks(dsn, (*store)->identity(), *facts.schema);
  const SigningKeyFile key = signing_key_file(checkpoints);
  if (!key.better.empty()) facts.schema->checkpoints.key_in_folder = key.path;
  facts.schema->checkpoints.key_better = key.better;
}

// Full disks and read-only servers show when something is written.
Status try_to_write(Administration& database) {
  try {
    database.begin();
    database.query("doctor_write");
    database.roll_back();
    return Done{};
  } catch (const PostgresError& refused) {
    const std::string text = refused.what();
    database.roll_back();
    return Error{Code::unavailable, text.substr(0, text.find('\n'))};
  }
}

void read_ahead(Administration& database, DoctorFacts& facts) {
  const AdminRows row = database.query("doctor_ahead");
  facts.jobs_ahead = row.number(0, 0);
  facts.ahead_seconds = row.number(0, 1);
}

// Asked again and again until it has replayed what the database had written: one that is idle is not behind.
Result<ReplicaFacts> follow_replica(const ServerSeen& primary, const std::string& dsn) {
  constexpr std::chrono::milliseconds pause{50};
  constexpr std::chrono::seconds patience{2};
  const auto began = std::chrono::steady_clock::now();
  for (;;) {
    const Result<ServerSeen> seen = probe_read_replica(dsn, primary.identity);
    if (!seen) return seen.error();
    const auto took = std::chrono::steady_clock::now() - began;
    const std::int64_t behind = std::max<std::int64_t>(primary.wal_bytes - seen->wal_bytes, 0);
    const bool follows = behind == 0 || !seen->is_replica;
    const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    if (follows || took > patience)
      return ReplicaFacts{
          .is_replica = seen->is_replica,
          .bytes_behind = behind,
          .followed_ms = follows ? ms : -1,
          .replayed_seconds = seen->replayed_until_us == 0 ? -1 : (seen->now_us - seen->replayed_until_us) / 1'000'000};
    std::this_thread::sleep_for(pause);
  }
}

void read_ways(const std::string& dsn, const std::string& replica_dsn, DoctorFacts& facts) {
  facts.wake_up = find_wake_up(dsn, direct_dsn_of_environment());
  const Result<ServerSeen> primary = probe_server(dsn);
  if (!primary) return;
  facts.is_replica = primary->is_replica;
  if (!replica_dsn.empty()) facts.replica = follow_replica(*primary, replica_dsn);
}

std::optional<DiskFacts> read_disk(const DatabaseChoice& choice) {
  if (!choice.is_embedded()) return std::nullopt;
  std::error_code fault;
  const std::filesystem::space_info space = std::filesystem::space(choice.directory, fault);
  if (fault) return std::nullopt;
  return DiskFacts{choice.directory, space.available, space.capacity};
}

Result<DoctorFacts> read_facts(const DatabaseChoice& choice, const std::string& dsn, const std::string& replica_dsn) {
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choice);
  if (!checkpoints) return checkpoints.error();
  try {
    Administration database(dsn, "cairn doctor");
    DoctorFacts facts;
    facts.server = read_server(database);
    facts.holders = read_holders(database);
    read_clocks(database, facts);
    read_schema(database, dsn, *checkpoints, facts);
    if (facts.schema) read_ahead(database, facts);
    facts.written = try_to_write(database);
    facts.disk = read_disk(choice);
    facts.folders = kept_folders(choice, *checkpoints);
    read_nodes(dsn, facts);
    read_ways(dsn, replica_dsn, facts);
    const ServerWay way = way_to_server(dsn);
    facts.is_local = way.is_local;
    facts.sslmode = way.sslmode;
    facts.model_url = model_settings_from_environment().url;
    facts.embed_url = embedding_settings_from_environment().url;
    return facts;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to ask the database how it is, but: ") + failure.what()};
  }
}

void print_checks(const std::vector<Check>& checks) {
  Table table({"", "CHECK", "FOUND"});
  for (const Check& check : checks)
    table.add({check.ok ? painted("✓ ok", Paint::green) : painted("✗ not ok", Paint::red), check.name, check.found});
  table.print_wrapped();
}

Exit run_doctor(const Settings& settings) {
  const DatabaseChoice choice = choose_database(settings);
  const Result<std::string> dsn = reach_database(choice);
  if (!dsn) return dsn.error();
  Result<DoctorFacts> facts = read_facts(choice, *dsn, named_replica(settings));
  if (!facts) return facts.error();
  if (!settings.json) facts->time_said = local_moment;
  const std::vector<Check> checks = checks_of(*facts);
  bool all_ok = true;
  Json shown = Json::array();
  for (const Check& check : checks) {
    all_ok = all_ok && check.ok;
    shown.push_back({{"name", check.name}, {"ok", check.ok}, {"found", check.found}});
  }
  if (settings.json) {
    print_json({{"dsn", public_dsn(*dsn)}, {"checks", std::move(shown)}});
  } else {
    print_paragraph(dsn->empty() ? "The database that libpq's variables name" : public_dsn(*dsn));
    print_checks(checks);
  }
  return all_ok ? exit_ok : exit_finding;
}

}  // namespace

void add_doctor(CommandLine& line) {
  add_command(line, "doctor", "Look the database over: what is well and what is not; exit 1 if something is not",
              "cairn doctor", paged(run_doctor));
}

}  // namespace cairn
