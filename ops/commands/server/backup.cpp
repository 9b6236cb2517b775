#include <CLI/CLI.hpp>
#include <iostream>
#include <sys/wait.h>

#include "engine/json.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/build_facts.hpp"
#include "ops/service/database.hpp"
#include "ops/service/embedded_database.hpp"
#include "ops/terminal/child_process.hpp"
#include "ops/terminal/print.hpp"
#include "storage/feed/feed.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/server/cluster_backup.hpp"
#include "storage/server/incarnation.hpp"

namespace cairn {
namespace {

struct BackupOptions {
  std::string folder;
};

struct RestoreOptions {
  std::string folder;
  std::string wal;
  std::string until;
  bool in_place = false;        // of no folder: the database itself was restored
  bool beside_workers = false;  // also while they are at work
};

Result<DatabaseChoice> embedded_choice(const Settings& settings, const std::string& verb) {
  DatabaseChoice choice = choose_database(settings);
  if (choice.is_embedded()) return choice;
  return Error{Code::unsupported, "Expected an embedded PostgreSQL to " + verb +
                                      ", but the database is another one: its owner's pg_basebackup or pg_dump does "
                                      "it, as the guide backup.md shows."};
}

Result<ProofPlaces> proof_places(const DatabaseChoice& choice) {
  const Result<CheckpointOptions> options = checkpoint_options(choice);
  if (!options) return options.error();
  return ProofPlaces{options->folder, signing_key_file(*options).path};
}

Exit back_up(const Settings& settings, const BackupOptions& options) {
  const Result<DatabaseChoice> choice = embedded_choice(settings, "back up");
  if (!choice) return choice.error();
  const Result<ProofPlaces> places = proof_places(*choice);
  if (!places) return places.error();
  const Result<Cluster> cluster = reach_cluster(choice->directory);
  if (!cluster) return cluster.error();
  const Result<ClusterBackup> backup =
      back_up_cluster(*cluster, *places, std::string(build_facts().version), options.folder);
  if (!backup) return backup.error();
  if (settings.json)
    print_json({{"backup", options.folder},
                {"identity", backup->identity},
                {"schema", backup->schema},
                {"postgres", backup->postgres},
                {"program", backup->program}});
  else
    print_paragraph("The database " + backup->identity + " is in " + options.folder + ".");
  return exit_ok;
}

// As the command `verify --all`, whose exit code this one takes. It reads the database itself: a replica may hold the
// lost present.
Exit verify_restored(const Settings& settings, const std::vector<std::string>& database) {
  std::cout.flush();
  ChildCommand verify{{"verify", "--all"}};
  verify.environment["CAIRN_READ_DSN"] = "";
  verify.arguments.insert(verify.arguments.end(), database.begin(), database.end());
  if (settings.json) verify.arguments.emplace_back("--json");
  const int status = ChildProcess(verify).wait();
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  return Error{Code::unavailable, "Expected the restored histories to be verified, but the process was ended."};
}

void print_restored(const Settings& settings, const std::string& name, const std::string& says,
                    const ForgottenSessions& forgotten) {
  if (settings.json)
    print_json({{"restored", name}, {"sessions", forgotten.sessions}, {"holds", forgotten.holds}});
  else
    print_paragraph(says + ", without its " + std::to_string(forgotten.sessions) + " sessions and their " +
                    std::to_string(forgotten.holds) + " holds.");
}

// A dump keeps the places in the log of the server before, and commits from now on may lie before them.
Status number_feed(const std::string& dsn) {
  const Result<std::unique_ptr<Store>> store = open_store(dsn);
  if (!store) return store.error();
  Feed(dsn, (*store)->shards(), (*store)->identity()).number_all();
  return Done{};
}

// The database was restored by its server's programs, or by an import of a dump.
Exit restore_in_place(const Settings& settings, const RestoreOptions& options) {
  const DatabaseChoice choice = choose_database(settings);
  const Result<std::string> dsn = reach_database(choice);
  if (!dsn) return dsn.error();
  const Result<ForgottenSessions> forgotten = begin_new_incarnation(*dsn, options.beside_workers);
  if (!forgotten) return forgotten.error();
  if (const Status numbered = number_feed(*dsn); !numbered) return numbered.error();
  const std::string name = dsn->empty() ? "The database that libpq's variables name" : public_dsn(*dsn);
  print_restored(settings, name, name + " begins again", *forgotten);
  std::vector<std::string> database;  // an environment's is inherited
  if (!settings.dsn.empty()) database = {"--dsn", settings.dsn};
  if (choice.is_embedded()) database = {"--data", choice.directory};
  return verify_restored(settings, database);
}

Exit restore(const Settings& settings, const RestoreOptions& options) {
  if (options.in_place) return restore_in_place(settings, options);
  Recovery recovery{options.wal};
  if (!options.until.empty()) {
    const Result<TimeUs> until = time_argument(options.until);
    if (!until) return until.error();
    recovery.until_us = *until;
  }

  const Result<DatabaseChoice> choice = embedded_choice(settings, "restore");
  if (!choice) return choice.error();
  const Result<ProofPlaces> places = proof_places(*choice);
  if (!places) return places.error();
  const Result<ForgottenSessions> restored = restore_cluster(options.folder, choice->directory, *places, recovery);
  if (!restored) return restored.error();
  print_restored(settings, choice->directory, "Restored into " + choice->directory, *restored);
  return verify_restored(settings, {"--data", choice->directory});
}

Status check_restore(const RestoreOptions& options) {
  if (options.in_place == options.folder.empty()) return Done{};
  return Error{Code::invalid,
               "Expected the folder of a backup, or --in-place for a database that was restored by its "
               "own programs, but got " +
                   std::string(options.in_place ? "both." : "neither.")};
}

CLI::Option* add_folder(CLI::App& command, std::string& folder, const std::string& says) {
  return command.add_option("DIR", folder, says)->type_name("");
}

}  // namespace

void add_backup(CommandLine& line) {
  auto& options = line.keep<BackupOptions>();
  add_folder(add_command(line, "backup", "Copy the embedded database with its proof, while workers go on",
                         "cairn backup /var/backups/cairn-$(date +%F)",
                         [&](const Settings& settings) { return back_up(settings, options); }),
             options.folder, "The folder to make")
      ->required();
}

void add_restore(CommandLine& line) {
  auto& options = line.keep<RestoreOptions>();
  CLI::App& command = add_command(
      line, "restore", "Make an embedded database of a backup, and verify all of it; exit 1 on a finding",
      "cairn restore /var/backups/cairn-2026-11-27 --data ~/restored",
      [&](const Settings& settings) { return restore(settings, options); }, [&] { return check_restore(options); });
  add_folder(command, options.folder, "The backup");
  CLI::Option* wal = command.add_option("--wal", options.wal, "Go on with the WAL that was archived in this folder");
  wal->type_name("DIR");
  command.add_option("--until", options.until, "Only until this moment")->needs(wal)->type_name("TIME");
  CLI::Option* in_place = command.add_flag(
      "--in-place", options.in_place,
      "No backup: a database that other programs restored (pg_restore, a recovery) forgets its sessions and holds");
  in_place->excludes(wal);
  command.add_flag("--beside-workers", options.beside_workers, "Also while workers are at work, who lose their steps")
      ->needs(in_place);
}

}  // namespace cairn
