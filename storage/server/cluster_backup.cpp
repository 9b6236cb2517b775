#include "storage/server/cluster_backup.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/json.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/server/server_process.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view note_name = "cairn_backup.json";
constexpr std::string_view data_name = "data";
constexpr std::string_view pass_name = "owner.pass";
constexpr std::string_view checkpoints_name = "checkpoints";
constexpr std::string_view key_name = "checkpoints_signing_key.pem";
constexpr int backup_format = 1;
constexpr std::uintmax_t spare_bytes = 256ull << 20;  // WAL that is written meanwhile

ServerAccount own_account() { return {geteuid(), getegid()}; }

// --- space and places ------------------------------------------------------------------------------------------------

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code fault;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, fault), end;
       at != end; at.increment(fault)) {
    std::error_code gone;  // a file of a server at work
    const std::uintmax_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

// The nearest folder above that exists.
fs::path standing_part(fs::path path) {
  std::error_code fault;
  while (path.has_relative_path() && !fs::exists(path, fault)) path = path.parent_path();
  return path;
}

Status check_space(const fs::path& place, std::uintmax_t bytes) {
  struct statvfs found {};
  if (statvfs(standing_part(place).c_str(), &found) != 0) return Done{};  // the copy will say it
  const std::uintmax_t free = static_cast<std::uintmax_t>(found.f_bavail) * found.f_frsize;
  if (free >= bytes + spare_bytes) return Done{};
  constexpr std::uintmax_t mebibyte = 1u << 20;
  return Error{Code::limit, "Expected " + std::to_string((bytes + spare_bytes) / mebibyte) + " MiB of space for " +
                                place.string() + ", but " + std::to_string(free / mebibyte) + " are free."};
}

Result<fs::path> absolute_place(const std::string& text) {
  std::error_code fault;
  fs::path path = fs::weakly_canonical(fs::absolute(text, fault), fault);
  if (text.empty() || fault) return Error{Code::invalid, "Expected a folder, but got \"" + text + "\"."};
  return path;
}

Status check_free(const fs::path& path) {
  std::error_code fault;
  if (!fs::exists(fs::symlink_status(path, fault))) return Done{};
  if (fs::is_directory(path, fault) && fs::is_empty(path, fault)) return Done{};
  return Error{Code::conflict, "Expected " + path.string() + " to be free, but it is not."};
}

// Proof, which a worker that still runs goes on to write, and logs may be there already.
Status check_free_of_data(const fs::path& path) {
  std::error_code fault;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, fault)) {
    const std::string name = entry.path().filename();
    if (name == checkpoints_name || name == key_name || name == "logs") continue;
    return Error{Code::conflict, "Expected " + path.string() + " to be free, but it holds " + name + "."};
  }
  return Done{};
}

Status make_private_folder(const fs::path& path) {
  std::error_code fault;  // without a folder above it the next call fails
  fs::create_directories(path.parent_path(), fault);
  if (mkdir(path.c_str(), 0700) == 0) return Done{};
  if (errno == EEXIST)
    return Error{Code::conflict, "Expected no " + path.string() +
                                     ", but one is there, as of an interrupted attempt: "
                                     "remove it if nothing works on it."};
  return Error{Code::unavailable, "Expected to make " + path.string() +
                                      ", but: " + std::error_code(errno, std::generic_category()).message() + "."};
}

Status copied(const fs::path& from, const fs::path& to) {
  std::error_code fault;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, fault);
  if (!fault) return Done{};
  return Error{Code::unavailable,
               "Expected to copy " + from.string() + " to " + to.string() + ", but: " + fault.message() + "."};
}

Status copied_if_there(const fs::path& from, const fs::path& to) {
  std::error_code fault;
  return fs::exists(from, fault) ? copied(from, to) : Status(Done{});
}

// An empty folder makes way.
Status renamed(const fs::path& from, const fs::path& to) {
  std::error_code fault;
  fs::rename(from, to, fault);
  if (!fault) return Done{};
  return Error{Code::unavailable,
               "Expected to rename " + from.string() + " to " + to.string() + ", but: " + fault.message() + "."};
}

// Removes the folder of the work at the end: what was done of it is elsewhere then.
class Attempt {
 public:
  explicit Attempt(fs::path folder) : folder_(std::move(folder)) {}
  ~Attempt() {
    std::error_code fault;
    fs::remove_all(folder_, fault);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

 private:
  const fs::path folder_;
};

// --- backup ----------------------------------------------------------------------------------------------------------

Status run_copy(const Cluster& cluster, const std::string& programs, const fs::path& folder) {
  const fs::path said = folder / "said";
  const ProgramRun ran = run_program(
      own_account(),
      {programs + "/pg_basebackup", "--pgdata=" + (folder / data_name).string(), "--dbname=" + cluster.owner_dsn,
       "--format=plain", "--wal-method=stream", "--checkpoint=fast", "--manifest-checksums=SHA256", "--no-password"},
      said);
  std::error_code fault;
  fs::remove(said, fault);
  if (ran.exit == 0) return Done{};
  return Error{Code::unavailable, "Expected to copy the database, but: " + last_lines(ran.says)};
}

Result<ClusterBackup> facts_of(const Cluster& cluster, const std::string& program) {
  try {
    Administration database(cluster.owner_dsn, "cairn backup");
    const Result<SchemaFound> found = find_schema(database);
    if (!found) return found.error();
    ClusterBackup backup;
    backup.program = program;
    backup.schema = found->version;
    backup.identity = database.query("identity").text(0, 0);
    backup.postgres = std::atoi(read_text(fs::path(cluster.directory) / data_name / "PG_VERSION").c_str());
    backup.made_at = database.query("database_time").number(0, 0);
    return backup;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to reach the database, but: ") + failure.what()};
  }
}

Status write_note(const fs::path& folder, const ClusterBackup& backup) {
  const Json note = {{"format", backup_format},     {"program", backup.program},   {"schema", backup.schema},
                     {"identity", backup.identity}, {"postgres", backup.postgres}, {"made_at_us", backup.made_at}};
  std::ofstream file(folder / note_name, std::ios::binary);
  file << note.dump(1) << '\n';
  file.close();
  if (file) return Done{};
  return Error{Code::unavailable, "Expected to write in " + folder.string() + ", but could not."};
}

// --- restore ---------------------------------------------------------------------------------------------------------

Status check_files(const std::string& programs, const fs::path& folder, const fs::path& said) {
  const ProgramRun ran =
      run_program(own_account(), {programs + "/pg_verifybackup", "--quiet", (folder / data_name).string()}, said);
  std::error_code fault;
  fs::remove(said, fault);
  if (ran.exit == 0) return Done{};
  return Error{Code::corrupt, "Expected the files of the backup " + folder.string() +
                                  " as they were copied, but: " + last_lines(ran.says)};
}

// The server's files are its account's, which must reach them.
Status give_all(const fs::path& folder) {
  const Result<ServerAccount> account = server_account(folder / "none");
  if (!account) return account.error();
  if (geteuid() != 0) return Done{};
  bool is_given =
      give_to(*account, folder.parent_path()) && give_to(*account, folder) && give_to(*account, folder / data_name);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / data_name))
    is_given = is_given && give_to(*account, entry.path());
  is_given = is_given && give_to(*account, folder / pass_name);
  if (is_given) return Done{};
  return Error{Code::unavailable, "Expected to give " + folder.string() + " to the server, but could not."};
}

// Started once, so that it becomes one moment again, and forgets who was at work.
Result<RestoredCluster> begin_again(const fs::path& directory) {
  const Result<Cluster> cluster = start_cluster(directory.string());
  if (!cluster) return cluster.error();
  RestoredCluster restored;
  try {
    Administration database(cluster->owner_dsn, "cairn restore");
    const AdminRows rows = database.query("forget_sessions");
    restored = {rows.number(0, 0), rows.number(0, 1)};
  } catch (const PostgresError& failure) {
    static_cast<void>(stop_cluster(directory.string()));
    return Error{Code::unavailable, std::string("Expected the restored database to answer, but: ") + failure.what()};
  }
  if (const Status stopped = stop_cluster(directory.string()); !stopped) return stopped.error();
  return restored;
}

Status restore_proof(const fs::path& folder, const ProofPlaces& places) {
  std::error_code fault;
  if (const fs::path to = places.checkpoints; !fs::exists(to, fault) || fs::is_empty(to, fault)) {
    fs::create_directories(to.parent_path(), fault);
    if (const Status done = copied_if_there(folder / checkpoints_name, to); !done) return done;
  }
  if (fs::exists(places.signing_key, fault)) return Done{};
  return copied_if_there(folder / key_name, places.signing_key);
}

Status check_fit(const ClusterBackup& backup) {
  if (backup.schema <= newest_schema()) return Done{};
  return Error{Code::unsupported, "Expected a backup of schema version " + std::to_string(newest_schema()) +
                                      " or older, but it has version " + std::to_string(backup.schema) +
                                      ": a newer program restores it."};
}

// Into its place; with the marker, which comes last, it is a cluster there.
Status settle(const fs::path& staged, const fs::path& target) {
  for (const std::string_view part : {pass_name, data_name})
    if (const Status done = renamed(staged / part, target / part); !done) return done;
  if (mark_cluster(target.string())) return Done{};
  return Error{Code::unavailable, "Expected to write in " + target.string() + ", but could not."};
}

// The copy, marked as a cluster, in the folder where it is started once.
Status stage(const fs::path& folder, const fs::path& staged) {
  for (const std::string_view part : {data_name, pass_name})
    if (const Status done = copied(folder / part, staged / part); !done) return done;
  if (const Status given = give_all(staged); !given) return given;
  if (mark_cluster(staged.string())) return Done{};
  return Error{Code::unavailable, "Expected to write in " + staged.string() + ", but could not."};
}

}  // namespace

Result<ClusterBackup> back_up_cluster(const Cluster& cluster, const ProofPlaces& places, const std::string& program,
                                      const std::string& folder) {
  const Result<fs::path> target = absolute_place(folder);
  if (!target) return target.error();
  const Result<std::string> programs = server_programs();
  if (!programs) return programs.error();
  const fs::path partial = target->string() + ".partial";
  const fs::path directory = cluster.directory;
  if (const Status free = check_free(*target); !free) return free.error();
  if (const Status space = check_space(*target, bytes_below(directory / data_name)); !space) return space.error();
  if (const Status made = make_private_folder(partial); !made) return made.error();
  const Attempt attempt(partial);
  // The database may be ahead of the checkpoints; checkpoints that are ahead of it look like an older one in its place.
  if (const Status done = copied_if_there(places.checkpoints, partial / checkpoints_name); !done) return done.error();
  if (const Status done = copied_if_there(places.signing_key, partial / key_name); !done) return done.error();
  if (const Status done = copied(directory / pass_name, partial / pass_name); !done) return done.error();
  const Result<ClusterBackup> backup = facts_of(cluster, program);
  if (!backup) return backup;
  if (const Status done = run_copy(cluster, *programs, partial); !done) return done.error();
  if (const Status noted = write_note(partial, *backup); !noted) return noted.error();
  if (const Status done = renamed(partial, *target); !done) return done.error();
  return backup;
}

Result<ClusterBackup> read_backup(const std::string& folder) {
  std::error_code fault;
  if (!fs::is_directory(folder, fault))
    return Error{Code::not_found, "Expected a folder with a backup, but there is no " + folder + "."};
  const Json note = Json::parse(read_text(fs::path(folder) / note_name), nullptr, false);
  const Error none{Code::invalid, "Expected a whole backup in " + folder + ", but it holds none."};
  if (!note.is_object() || !note.contains("format") || !note["format"].is_number_integer()) return none;
  if (note["format"] > backup_format)
    return Error{Code::unsupported, "Expected a backup of format " + std::to_string(backup_format) + ", but " + folder +
                                        " has format " + note["format"].dump() + ": a newer program restores it."};
  ClusterBackup backup;
  try {
    backup.program = note.at("program").get<std::string>();
    backup.schema = note.at("schema").get<int>();
    backup.identity = note.at("identity").get<std::string>();
    backup.postgres = note.at("postgres").get<int>();
    backup.made_at = note.at("made_at_us").get<std::int64_t>();
  } catch (const Json::exception&) {
    return none;
  }
  return fs::is_directory(fs::path(folder) / data_name, fault) ? Result<ClusterBackup>(backup) : none;
}

Result<RestoredCluster> restore_cluster(const std::string& folder, const std::string& directory,
                                        const ProofPlaces& places) {
  const Result<ClusterBackup> backup = read_backup(folder);
  if (!backup) return backup.error();
  if (const Status fit = check_fit(*backup); !fit) return fit.error();
  const Result<fs::path> source = absolute_place(folder), target = absolute_place(directory);
  const Result<std::string> programs = server_programs();
  if (!source) return source.error();
  if (!target) return target.error();
  if (!programs) return programs.error();
  if (const Status free = check_free_of_data(*target); !free) return free.error();
  if (const Status space = check_space(*target, bytes_below(*source)); !space) return space.error();
  const fs::path staged = *target / "restoring";  // which is on the disk that is meant
  if (const Status made = make_private_folder(staged); !made) return made.error();
  const Attempt attempt(staged);
  if (const Status whole = check_files(*programs, *source, staged / "said"); !whole) return whole.error();
  if (const Status done = stage(*source, staged); !done) return done.error();
  const Result<RestoredCluster> restored = begin_again(staged);
  if (!restored) return restored;
  if (const Status done = settle(staged, *target); !done) return done.error();
  if (const Status done = restore_proof(*source, places); !done) return done.error();
  return restored;
}

}  // namespace cairn
