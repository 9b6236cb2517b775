#include "storage/server/cluster_backup.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/id.hpp"
#include "engine/json.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/server/cluster_parts.hpp"
#include "storage/server/incarnation.hpp"
#include "storage/server/server_process.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view note_name = "cairn_backup.json";
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
  std::error_code fault;
  const fs::space_info space = fs::space(standing_part(place), fault);
  if (fault || space.available >= bytes + spare_bytes) return Done{};  // a fault: the copy will say it
  constexpr std::uintmax_t mebibyte = 1u << 20;
  return Error{Code::limit, "Expected " + std::to_string((bytes + spare_bytes) / mebibyte) + " MiB of space for " +
                                place.string() + ", but " + std::to_string(space.available / mebibyte) + " are free."};
}

Status check_free(const fs::path& path) {
  std::error_code fault;
  if (!fs::exists(fs::symlink_status(path, fault))) return Done{};
  if (fs::is_directory(path, fault) && fs::is_empty(path, fault)) return Done{};
  return Error{Code::conflict, "Expected " + path.string() + " to be free, but it is not."};
}

// A copy of the server's data there would copy itself.
Status check_outside(const fs::path& path, const fs::path& cluster) {
  std::error_code fault;
  const fs::path data = fs::weakly_canonical(cluster / data_name, fault);
  if (std::mismatch(data.begin(), data.end(), path.begin(), path.end()).first != data.end()) return Done{};
  return Error{Code::invalid,
               "Expected a folder outside of the server's data " + data.string() + ", but got " + path.string() + "."};
}

fs::path partial_of(const fs::path& path) { return path.string() + ".partial"; }

// Proof, which a worker that still runs goes on to write, and logs may be there already.
Status check_free_of_data(const fs::path& path) {
  std::error_code fault;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, fault)) {
    const fs::path name = entry.path().filename();
    if (name == checkpoints_name || name == key_name || name == logs_name) continue;
    if (name == partial_of(checkpoints_name) || name == partial_of(key_name)) continue;
    return Error{Code::conflict, "Expected " + path.string() + " to be free, but it holds " + name.string() + "."};
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

// Removes the working folder at the end; the result has been renamed out of it. It stays while a server works in it.
class Attempt {
 public:
  explicit Attempt(fs::path folder) : folder_(std::move(folder)) {}
  ~Attempt() {
    std::error_code fault;
    if (!server_of(folder_ / data_name)) fs::remove_all(folder_, fault);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

 private:
  const fs::path folder_;
};

// --- backup ----------------------------------------------------------------------------------------------------------

Status run_copy(const Cluster& cluster, const fs::path& programs, const fs::path& folder) {
  const fs::path said = folder / "said";
  const ProgramRun ran =
      run_program(own_account(),
                  {(programs / "pg_basebackup").string(), "--pgdata=" + (folder / data_name).string(),
                   "--dbname=" + cluster.owner_dsn, "--format=plain", "--wal-method=stream", "--checkpoint=fast",
                   "--manifest-checksums=SHA256", "--no-password"},
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
    backup.postgres = version_of_data(data_of(cluster.directory));
    return backup;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to reach the database, but: ") + failure.what()};
  }
}

Status write_note(const fs::path& folder, const ClusterBackup& backup) {
  const Json note = {{"format", backup_format},
                     {"program", backup.program},
                     {"schema", backup.schema},
                     {"identity", backup.identity},
                     {"postgres", backup.postgres}};
  std::ofstream file(folder / note_name, std::ios::binary);
  file << note.dump(1) << '\n';
  file.close();
  if (file) return Done{};
  return Error{Code::unavailable, "Expected to write in " + folder.string() + ", but could not."};
}

// --- restore ---------------------------------------------------------------------------------------------------------

Status check_files(const fs::path& programs, const fs::path& folder, const fs::path& said) {
  const ProgramRun ran = run_program(
      own_account(), {(programs / "pg_verifybackup").string(), "--quiet", (folder / data_name).string()}, said);
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
  std::error_code fault;
  for (fs::recursive_directory_iterator at(folder / data_name, fault), end; at != end; at.increment(fault))
    is_given = is_given && give_to(*account, at->path());
  is_given = is_given && !fault && give_to(*account, folder / password_name);
  if (is_given) return Done{};
  return Error{Code::unavailable, "Expected to give " + folder.string() + " to the server, but could not."};
}

// The server of a copy, which is stopped at the end of any attempt.
class StartedCopy {
 public:
  StartedCopy(const fs::path& directory, const Recovery& recovery)
      : directory_(directory.string()), cluster_(start_cluster(directory_, recovery)) {}
  ~StartedCopy() { static_cast<void>(stop()); }
  StartedCopy(const StartedCopy&) = delete;
  StartedCopy& operator=(const StartedCopy&) = delete;
  const Result<Cluster>& cluster() const { return cluster_; }
  Status stop() const { return stop_cluster(directory_); }

 private:
  const std::string directory_;
  const Result<Cluster> cluster_;
};

// Started once, so that it becomes one moment again, and forgets who was at work.
Result<ForgottenSessions> begin_again(const fs::path& directory, const Recovery& recovery) {
  const StartedCopy copy(directory, recovery);
  if (!copy.cluster()) return copy.cluster().error();
  ForgottenSessions restored;
  try {
    Administration database(copy.cluster()->owner_dsn, "cairn restore");
    restored = forget_sessions(database);
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected the restored database to answer, but: ") + failure.what()};
  }
  if (const Status stopped = copy.stop(); !stopped) return stopped.error();
  return restored;
}

bool is_there(const fs::path& path) {
  std::error_code fault;
  return fs::is_directory(path, fault) ? !fs::is_empty(path, fault) : fs::exists(path, fault);
}

// The folder by its whole path, as the server works in its data.
Result<Recovery> with_found_wal(Recovery recovery) {
  std::error_code fault;
  if (recovery.wal.empty()) return recovery;
  if (!fs::is_directory(recovery.wal, fault))
    return Error{Code::not_found, "Expected a folder with archived WAL, but there is no " + recovery.wal + "."};
  const Result<fs::path> path = absolute_path(recovery.wal);
  if (!path) return path.error();
  recovery.wal = path->string();
  return recovery;
}

// To the server, a file that it may not read is the end of the WAL.
Status check_readable(const std::string& wal, const fs::path& staged) {
  const Result<ServerAccount> account = server_account(staged / data_name);
  if (!account) return account.error();
  const fs::path said = staged / "said";
  const ProgramRun ran = run_program(*account, {"/usr/bin/find", wal, "!", "-readable", "-print", "-quit"}, said);
  std::error_code fault;
  fs::remove(said, fault);
  if (ran.exit == 0 && ran.says.empty()) return Done{};
  return Error{Code::unavailable, "Expected the archived WAL to be readable for the server's user " +
                                      std::to_string(account->user) + ", but it is not: " + last_lines(ran.says)};
}

// Since when the copy was made, by its label; nothing if it does not say.
std::optional<TimeUs> began_at(const fs::path& data) {
  const std::string label = read_text(data / "backup_label"), mark = "START TIME: ";
  const std::size_t at = label.find(mark);
  if (at == std::string::npos) return std::nullopt;
  std::string time = label.substr(at + mark.size(), std::string_view("2026-11-28 03:41:08").size());
  std::replace(time.begin(), time.end(), ' ', 'T');
  return parse_time(time + "Z");
}

Status check_moment(const Recovery& recovery, const fs::path& folder) {
  const std::optional<TimeUs> began = began_at(folder / data_name);
  if (!recovery.until_us || !began || *recovery.until_us >= *began) return Done{};
  return Error{Code::invalid, "Expected a moment after the backup began at " + time_text(*began) + ", but got " +
                                  time_text(*recovery.until_us) + "."};
}

// In one step. A part that is there, or comes there meanwhile, is left.
Status restore_part(const fs::path& from, const fs::path& to) {
  std::error_code fault;
  if (!fs::exists(from, fault) || is_there(to)) return Done{};
  const Attempt attempt(partial_of(to));
  fs::create_directories(to.parent_path(), fault);
  fs::remove_all(partial_of(to), fault);  // of an interrupted attempt
  if (const Status done = copied(from, partial_of(to)); !done) return done;
  const Status done = renamed(partial_of(to), to);
  return is_there(to) ? Status(Done{}) : done;
}

Status restore_proof(const fs::path& folder, const ProofPlaces& places) {
  if (const Status done = restore_part(folder / checkpoints_name, places.checkpoints); !done) return done;
  return restore_part(folder / key_name, places.signing_key);
}

// Refuses `not_found` (no such folder), `invalid` (it holds no whole backup), `unsupported` (of a newer format).
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
  } catch (const Json::exception&) {
    return none;
  }
  return fs::is_directory(fs::path(folder) / data_name, fault) ? Result<ClusterBackup>(backup) : none;
}

Status check_fit(const ClusterBackup& backup, int postgres) {
  if (backup.schema > newest_schema())
    return Error{Code::unsupported, "Expected a backup of schema version " + std::to_string(newest_schema()) +
                                        " or older, but it has version " + std::to_string(backup.schema) +
                                        ": a newer program restores it."};
  if (backup.postgres == postgres) return Done{};
  return Error{Code::unsupported, "Expected a backup of PostgreSQL " + std::to_string(postgres) +
                                      ", but it is of version " + std::to_string(backup.postgres) +
                                      ": CAIRN_PG_BIN may name the programs of that one."};
}

// Into its place; with the marker, which comes last, it is a cluster there. The data first: the rename is refused where
// there are some, before anything is touched.
Status settle(const fs::path& staged, const fs::path& target) {
  for (const std::string_view part : {data_name, password_name})
    if (const Status done = renamed(staged / part, target / part); !done) return done;
  if (mark_cluster(target.string())) return Done{};
  return Error{Code::unavailable, "Expected to write in " + target.string() + ", but could not."};
}

// The copy, marked as a cluster, in the folder where it is started once.
Status stage(const fs::path& folder, const fs::path& staged) {
  for (const std::string_view part : {data_name, password_name})
    if (const Status done = copied(folder / part, staged / part); !done) return done;
  if (const Status given = give_all(staged); !given) return given;
  if (mark_cluster(staged.string())) return Done{};
  return Error{Code::unavailable, "Expected to write in " + staged.string() + ", but could not."};
}

}  // namespace

Result<ClusterBackup> back_up_cluster(const Cluster& cluster, const ProofPlaces& places, const std::string& program,
                                      const std::string& folder) {
  const Result<fs::path> target = absolute_path(folder);
  if (!target) return target.error();
  const Result<fs::path> programs = programs_for(version_of_data(data_of(cluster.directory)));
  if (!programs) return programs.error();
  const fs::path partial = partial_of(*target);
  const fs::path directory = cluster.directory;
  if (const Status outside = check_outside(*target, directory); !outside) return outside.error();
  if (const Status free = check_free(*target); !free) return free.error();
  if (const Status space = check_space(*target, bytes_below(directory / data_name)); !space) return space.error();
  if (const Status made = make_private_folder(partial); !made) return made.error();
  const Attempt attempt(partial);
  // The database may be ahead of the checkpoints; checkpoints that are ahead of it look like an older one in its place.
  if (const Status done = copied_if_there(places.checkpoints, partial / checkpoints_name); !done) return done.error();
  if (const Status done = copied_if_there(places.signing_key, partial / key_name); !done) return done.error();
  if (const Status done = copied(directory / password_name, partial / password_name); !done) return done.error();
  if (const Status done = run_copy(cluster, *programs, partial); !done) return done.error();
  const Result<ClusterBackup> backup = facts_of(cluster, program);  // the schema of the copy, or a newer one
  if (!backup) return backup;
  if (const Status noted = write_note(partial, *backup); !noted) return noted.error();
  if (const Status done = renamed(partial, *target); !done) return done.error();
  return backup;
}

Result<ForgottenSessions> restore_cluster(const std::string& folder, const std::string& directory,
                                          const ProofPlaces& places, const Recovery& recovery) {
  const Result<ClusterBackup> backup = read_backup(folder);
  if (!backup) return backup.error();
  const Result<Recovery> found = with_found_wal(recovery);
  if (!found) return found.error();
  if (const Status after = check_moment(*found, folder); !after) return after.error();
  const Result<fs::path> source = absolute_path(folder), target = absolute_path(directory);
  const Result<fs::path> programs = programs_for(backup->postgres);
  if (!source) return source.error();
  if (!target) return target.error();
  if (!programs) return programs.error();
  if (const Status free = check_free_of_data(*target); !free) return free.error();
  if (const Status space = check_space(*target, bytes_below(*source)); !space) return space.error();
  const fs::path staged = *target / "restoring";  // which is on the disk that is meant
  if (const Status made = make_private_folder(staged); !made) return made.error();
  const Attempt attempt(staged);
  const fs::path said = staged / "said";
  const Status fit = check_fit(*backup, version_of_programs(*programs, said));
  if (!fit) return fit.error();
  if (const Status whole = check_files(*programs, *source, said); !whole) return whole.error();
  if (const Status done = stage(*source, staged); !done) return done.error();
  if (!found->wal.empty())
    if (const Status readable = check_readable(found->wal, staged); !readable) return readable.error();
  const Result<ForgottenSessions> restored = begin_again(staged, *found);
  if (!restored) return restored;
  if (const Status done = restore_proof(*source, places); !done) return done.error();
  if (const Status done = settle(staged, *target); !done) return done.error();
  return restored;
}

}  // namespace cairn
