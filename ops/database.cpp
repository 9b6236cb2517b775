#include "ops/database.hpp"

#include <cstdlib>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops/commands.hpp"
#include "storage/cluster.hpp"
#include "storage/postgres_store.hpp"

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

Error without_schema(Error error) {
  if (error.code == Code::not_found) error.code = Code::unavailable;
  return error;
}

}  // namespace

DatabaseChoice choose_database(const Settings& settings) {
  if (!settings.dsn.empty()) return {settings.dsn, ""};
  if (!settings.data.empty()) return {"", settings.data};
  if (const std::string dsn = environment("CAIRN_DSN"); !dsn.empty()) return {dsn, ""};
  if (libpq_names_a_database()) return {"", ""};
  if (const std::string data = environment("CAIRN_DATA"); !data.empty()) return {"", data};
  return {"", default_data_directory()};
}

Result<std::string> reach_database(const DatabaseChoice& choice) {
  if (!choice.is_embedded()) return choice.dsn;
  Result<Cluster> cluster = start_cluster(choice.directory);
  if (!cluster) return cluster.error();
  if (Result<MigrateReport> report = migrate(cluster->dsn, 0); !report) return report.error();
  return cluster->dsn;
}

Result<std::unique_ptr<Store>> open_store(const std::string& dsn, int connections_max) {
  PostgresOptions options;
  options.dsn = dsn;
  options.connections_max = connections_max;
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (!store) return without_schema(store.error());
  return store;
}

Result<std::unique_ptr<Catalogue>> open_catalogue(const Settings& settings) {
  CatalogueOptions options = catalogue_options_from_environment();
  if (!settings.tools.empty()) options.tools_file = settings.tools;
  options.corpora = corpora_in_database([choice = choose_database(settings)] { return reach_database(choice); });
  return make_catalogue(options);
}

Result<Opened> open_database(const Settings& settings) {
  Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  Result<std::unique_ptr<Store>> store = open_store(*dsn);
  if (!store) return store.error();
  Opened opened{*dsn, std::move(*store), std::move(*catalogue), nullptr};
  opened.catalogue->use_database(*dsn, choose_database(settings).is_embedded());
  opened.client = std::make_unique<Client>(*opened.store, *opened.catalogue, current_actor());
  opened.client->load_graphs();
  return opened;
}

std::string current_actor() {
  const passwd* user = getpwuid(getuid());
  return "user:" + (user == nullptr ? std::to_string(getuid()) : std::string(user->pw_name));
}

Result<RunId> run_argument(const std::string& text) {
  if (const std::optional<RunId> id = parse_run_id(text)) return *id;
  return Error{Code::not_found, "Expected the id of a run, but \"" + text + "\" is none."};
}

Result<OpenedRun> find_run(const Settings& settings, const std::string& text) {
  const Result<RunId> run = run_argument(text);
  if (!run) return run.error();
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Shard shard = shard_of(*run, opened->store->shards());
  return OpenedRun{*std::move(opened), *run, shard};
}

}  // namespace cairn
