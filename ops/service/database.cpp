#include "ops/service/database.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops/metrics/counting_store.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/embedded_database.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/postgres/reachable.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/server/cluster.hpp"
#include "storage/server/cluster_parts.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_directory() {
  const std::string home = environment("HOME");
  if (!home.empty()) return home;
  const passwd* user = getpwuid(geteuid());
  return user == nullptr ? "/" : user->pw_dir;
}

bool others_may_enter(const std::string& directory) {
  struct stat found {};
  return stat(directory.c_str(), &found) == 0 && (found.st_mode & S_IXOTH) != 0;
}

std::string default_data_directory() {
  const std::string shared = environment("XDG_DATA_HOME");
  if (!shared.empty()) return shared + "/cairn";
  const std::string home = home_directory();
  if (geteuid() == 0 && !others_may_enter(home)) return "/var/lib/cairn";
  return home + "/.local/share/cairn";
}

bool libpq_names_a_database() {
  for (const char* name : {"PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE"})
    if (!environment(name).empty()) return true;
  return false;
}

// An embedded database may also be given by its DSN, as `cairn up` does for its workers.
std::string folder_of(const DatabaseChoice& choice) {
  if (choice.is_embedded()) return choice.directory;
  const std::string socket = socket_folder_of(choice.dsn);
  return !socket.empty() && is_cluster(socket) ? socket : default_data_directory();
}

// The reason why a person or a script waits for some seconds.
void say_if_starting(const std::string& directory) {
  if (find_cluster(directory)) return;
  // In one piece: another command may start it at the same moment, and say so on the same terminal.
  std::cerr << "cairn: " + std::string(is_cluster(directory) ? "Starting" : "Making and starting") +
                   " the embedded database in " + readable_line(directory, 300) + "; `cairn down` stops it.\n";
}

// Everything else writes, or says who is at work now.
constexpr auto commands_that_may_lag = std::to_array<std::string_view>(
    {"show", "events", "plan", "runs", "report", "verify", "replay", "blame", "diff", "export", "psql"});

// The identity of the chosen database; nothing if it is away: then its replica answers for itself.
std::optional<std::string> identity_of_primary(const DatabaseChoice& choice) {
  std::string dsn = choice.dsn;
  if (choice.is_embedded()) {
    const Result<Cluster> cluster = find_cluster(choice.directory);
    if (!cluster) return {};
    dsn = cluster->dsn;
  }
  const Result<ServerSeen> seen = probe_server(dsn);
  return seen ? std::optional(seen->identity) : std::nullopt;
}

// The answer may be of any database: its reader has to know of which.
void say_who_answers(const ServerSeen& replica) {
  std::cerr << "cairn: The database itself does not answer. All that follows is of the database " + replica.identity +
                   ", which CAIRN_READ_DSN names.\n";
}

Status check_replica(const DatabaseChoice& choice) {
  if (choice.is_checked) return Done{};
  const std::optional<std::string> identity = identity_of_primary(choice);
  const Result<ServerSeen> replica = probe_read_replica(choice.read_dsn, identity);
  if (!replica) return replica.error();
  if (!identity && !replica->identity.empty()) say_who_answers(*replica);
  return Done{};
}

// A database that was given is entered by the login that was given, whatever is to be done.
Result<Cluster> reach(const DatabaseChoice& choice) {
  if (!choice.read_dsn.empty()) {
    if (const Status same = check_replica(choice); !same) return same.error();
    return Cluster{.directory = "", .dsn = choice.read_dsn, .owner_dsn = choice.read_dsn};
  }
  if (choice.is_embedded()) {
    if (!choice.is_quiet) say_if_starting(choice.directory);
    return reach_cluster(choice.directory);
  }
  return Cluster{.directory = "", .dsn = choice.dsn, .owner_dsn = choice.dsn};
}

Error without_schema(Error error) {
  if (error.code == Code::not_found) error.code = Code::unavailable;
  return error;
}

Result<std::unique_ptr<Store>> uncounted_store(const PostgresOptions& options) {
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (!store) return without_schema(store.error());
  return store;
}

Result<std::unique_ptr<Store>> opened_store(const PostgresOptions& options, std::shared_ptr<WorkCounts> counts) {
  Result<std::unique_ptr<Store>> store = uncounted_store(options);
  if (!store) return store.error();
  return make_counting_store(*std::move(store), std::move(counts));
}

Result<ServerSeen> probe_named_replica(const std::string& read_dsn) {
  if (const Status fine = check_dsn(read_dsn, "CAIRN_READ_DSN"); !fine) return fine.error();
  Result<ServerSeen> seen = probe_server(read_dsn);
  if (seen) return seen;
  return Error{Code::unavailable, "Expected to reach the database in CAIRN_READ_DSN, but: " + seen.error().message};
}

Error other_database(const std::string& expected, const std::string& found) {
  return {Code::unavailable, "Expected the database " + expected + " in CAIRN_READ_DSN, but it is " +
                                 (found.empty() ? "one without the schema cairn" : found) +
                                 "; nothing is read from there."};
}

DatabaseChoice choose_primary(const Settings& settings) {
  if (!settings.dsn.empty()) return {settings.dsn, ""};
  if (!settings.data.empty()) return {"", settings.data, settings.json};
  if (const std::string dsn = environment("CAIRN_DSN"); !dsn.empty()) return {dsn, ""};
  if (libpq_names_a_database()) return {"", ""};
  if (const std::string data = environment("CAIRN_DATA"); !data.empty()) return {"", data, settings.json};
  return {"", default_data_directory(), settings.json};
}

}  // namespace

Result<ServerSeen> probe_read_replica(const std::string& read_dsn, const std::optional<std::string>& identity) {
  Result<ServerSeen> seen = probe_named_replica(read_dsn);
  if (!seen || !identity || seen->identity == *identity) return seen;
  return other_database(*identity, seen->identity);
}

bool may_lag(const std::string& command) {
  return std::find(commands_that_may_lag.begin(), commands_that_may_lag.end(), command) != commands_that_may_lag.end();
}

std::string named_replica(const Settings& settings) {
  return settings.dsn.empty() && settings.data.empty() ? read_dsn_of_environment() : "";
}

DatabaseChoice choose_database(const Settings& settings) {
  DatabaseChoice choice = choose_primary(settings);
  choice.may_lag = may_lag(settings.command);
  if (choice.may_lag) choice.read_dsn = named_replica(settings);
  return choice;
}

Result<std::string> reach_database(const DatabaseChoice& choice) {
  const Result<Cluster> reached = reach(choice);
  return reached ? Result<std::string>(reached->dsn) : reached.error();
}

Result<std::string> reach_as_owner(const DatabaseChoice& choice) {
  const Result<Cluster> reached = reach(choice);
  return reached ? Result<std::string>(reached->owner_dsn) : reached.error();
}

Result<std::string> reach_as_archivist(const DatabaseChoice& choice) {
  const std::string socket = choice.is_embedded() ? "" : socket_folder_of(choice.dsn);
  if (socket.empty() || !is_cluster(socket)) return reach_as_owner(choice);
  const Result<Cluster> cluster = find_cluster(socket);
  return cluster ? Result<std::string>(cluster->owner_dsn) : cluster.error();
}

Result<std::unique_ptr<Store>> open_store(const std::string& dsn, int connections_max, CommitWatch committed) {
  PostgresOptions options;
  options.dsn = dsn;
  options.connections_max = connections_max;
  options.committed = std::move(committed);
  return opened_store(options, std::make_shared<WorkCounts>());
}

Result<std::unique_ptr<Store>> open_store_to_read(const std::string& dsn, int connections_max, bool& is_replica) {
  PostgresOptions options;
  options.dsn = dsn;
  options.connections_max = connections_max;
  options.found_replica = [&is_replica] { is_replica = true; };
  return uncounted_store(options);
}

Result<std::unique_ptr<Catalogue>> open_catalogue(const Settings& settings) {
  CatalogueOptions options = catalogue_options_from_environment();
  if (!settings.tools.empty()) options.tools_file = settings.tools;
  options.own = settings.own;
  options.corpora = corpora_in_database([choice = choose_database(settings)] { return reach_database(choice); });
  options.corpus_passages =
      passages_in_database([choice = choose_database(settings)] { return reach_database(choice); });
  return make_catalogue(options);
}

Result<CheckpointOptions> checkpoint_options(const DatabaseChoice& choice) {
  CheckpointOptions options;
  options.folder = environment("CAIRN_CHECKPOINTS");
  if (options.folder.empty()) options.folder = folder_of(choice) + "/checkpoints";
  options.key = environment("CAIRN_SIGNING_KEY");
  const std::string every = environment("CAIRN_CHECKPOINT_MS");
  if (every.empty()) return options;
  const auto read = std::from_chars(every.data(), every.data() + every.size(), options.every_ms);
  if (read.ec != std::errc{} || *read.ptr != '\0' || options.every_ms < 1)
    return Error{Code::invalid, "Expected milliseconds above 0 in CAIRN_CHECKPOINT_MS, but found \"" + every + "\"."};
  return options;
}

namespace {

Result<Opened> open_chosen(const Settings& settings, const DatabaseChoice& choice, std::int64_t patience_ms) {
  if (const Status dsns = check_dsns_of_environment(); !dsns) return dsns.error();
  Result<CheckpointOptions> checkpoints = checkpoint_options(choice);
  if (!checkpoints) return checkpoints.error();
  Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  const Result<Cluster> reached = reach(choice);
  if (!reached) return reached.error();
  auto heads = std::make_unique<GatheredHeads>();
  PostgresOptions options;
  options.dsn = reached->dsn;
  options.connections_max = store_connections;
  // A statement that waits for a lock or a slow disk has as long with little patience as with much.
  if (patience_ms < options.patience_ms) options.silence_min_ms = options.patience_ms;
  options.patience_ms = patience_ms;
  options.committed = heads->watch();
  Opened opened;
  opened.is_replica = !choice.read_dsn.empty();  // also one that was promoted by itself: it keeps the identity
  if (choice.may_lag) options.found_replica = [&opened] { opened.is_replica = true; };
  Result<std::unique_ptr<Store>> store = opened_store(options, opened.counts);
  if (!store) return store.error();
  opened.dsn = reached->dsn;
  opened.heads = std::move(heads);
  opened.store = std::move(*store);
  opened.catalogue = std::move(*catalogue);
  if (!opened.is_replica)
    opened.checkpointer = std::make_unique<Checkpointer>(*opened.store, *opened.heads, *std::move(checkpoints));
  opened.catalogue->use_database(reached->dsn, choice.is_embedded() ? reached->owner_dsn : "");
  opened.client = std::make_unique<Client>(*opened.store, *opened.catalogue, current_actor());
  opened.is_replica ? opened.client->read_graphs() : opened.client->load_graphs();
  return opened;
}

}  // namespace

Result<Opened> open_database(const Settings& settings, std::int64_t patience_ms) {
  return open_chosen(settings, choose_database(settings), patience_ms);
}

Result<ReplicaFound> open_replica(const Settings& settings, const std::string& identity, std::int64_t patience_ms) {
  DatabaseChoice choice = choose_database(settings);
  choice.may_lag = true;
  choice.is_checked = true;
  choice.read_dsn = named_replica(settings);
  if (choice.read_dsn.empty()) return ReplicaFound{};
  const Result<ServerSeen> seen = probe_named_replica(choice.read_dsn);
  const bool is_behind = seen && seen->is_replica && seen->identity.empty();  // it has no schema yet
  if (seen && !is_behind && seen->identity != identity) return other_database(identity, seen->identity);
  Result<Opened> opened = seen ? open_chosen(settings, choice, patience_ms) : Result<Opened>(seen.error());
  if (!opened && opened.error().code == Code::unavailable) return ReplicaFound{{}, opened.error().message};
  if (!opened) return opened.error();
  // A DSN of several hosts may have led to another one now.
  if (const std::string found = opened->store->identity(); found != identity) return other_database(identity, found);
  return ReplicaFound{*std::move(opened), ""};
}

std::string log_folder(const DatabaseChoice& choice) { return folder_of(choice) + "/" + std::string(logs_name); }

std::string current_actor() {
  const passwd* user = getpwuid(getuid());
  return "user:" + (user == nullptr ? std::to_string(getuid()) : std::string(user->pw_name));
}

Result<OpenedRun> find_run(const Settings& settings, const std::string& text) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<RunId> run = run_meant(*opened->store, text);
  if (!run) return run.error();
  const Shard shard = shard_of(*run, opened->store->shards());
  return OpenedRun{*std::move(opened), *run, shard};
}

}  // namespace cairn
