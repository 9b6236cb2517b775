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
#include "storage/server/cluster_backup.hpp"

namespace cairn {
namespace {

struct BackupOptions {
  std::string folder;
};

struct RestoreOptions {
  std::string folder;
  std::string wal;
  std::string until;
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
    print_line("The database " + backup->identity + " is in " + options.folder + ".");
  return exit_ok;
}

// As the command `verify --all`, whose exit code this one takes.
Exit verify_restored(const Settings& settings, const std::string& directory) {
  std::cout.flush();
  std::vector<std::string> arguments = {"verify", "--all", "--data", directory};
  if (settings.json) arguments.emplace_back("--json");
  const int status = ChildProcess({arguments}).wait();
  if (WIFEXITED(status)) return static_cast<ExitCode>(WEXITSTATUS(status));
  return Error{Code::unavailable, "Expected the restored histories to be verified, but the process was ended."};
}

Exit restore(const Settings& settings, const RestoreOptions& options) {
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
  const Result<RestoredCluster> restored = restore_cluster(options.folder, choice->directory, *places, recovery);
  if (!restored) return restored.error();
  if (settings.json)
    print_json({{"restored", choice->directory}, {"sessions", restored->sessions}, {"holds", restored->holds}});
  else
    print_line("Restored into " + choice->directory + ", without its " + std::to_string(restored->sessions) +
               " sessions and their " + std::to_string(restored->holds) + " holds.");
  return verify_restored(settings, choice->directory);
}

void add_folder(CLI::App& command, std::string& folder, const std::string& says) {
  command.add_option("DIR", folder, says)->required()->type_name("");
}

}  // namespace

void add_backup(CommandLine& line) {
  auto& options = line.keep<BackupOptions>();
  add_folder(add_command(line, "backup", "Copy the embedded database with its proof, while workers go on",
                         "cairn backup /var/backups/cairn-$(date +%F)",
                         [&](const Settings& settings) { return back_up(settings, options); }),
             options.folder, "The folder to make");
}

void add_restore(CommandLine& line) {
  auto& options = line.keep<RestoreOptions>();
  CLI::App& command =
      add_command(line, "restore", "Make an embedded database of a backup, and verify all of it; exit 1 on a finding",
                  "cairn restore /var/backups/cairn-2026-11-27 --data ~/restored",
                  [&](const Settings& settings) { return restore(settings, options); });
  add_folder(command, options.folder, "The backup");
  CLI::Option* wal = command.add_option("--wal", options.wal, "Go on with the WAL that was archived in this folder");
  wal->type_name("DIR");
  command.add_option("--until", options.until, "Only until this moment")->needs(wal)->type_name("TIME");
}

}  // namespace cairn
