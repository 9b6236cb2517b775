#include "storage/server/cluster.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "engine/id.hpp"
#include "storage/chain.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/server/cluster_parts.hpp"
#include "storage/server/cluster_settings.hpp"
#include "storage/server/server_process.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker_name = "CAIRN";
constexpr std::string_view marker_next_name = "CAIRN.next";
constexpr std::string_view lock_name = "cairn.lock";
constexpr std::string_view marker_text = "A private PostgreSQL cluster of cairn.\n";
constexpr std::string_view marker_begun = "A private PostgreSQL cluster of cairn, being made.\n";
constexpr std::string_view output_name = "cairn.out";
constexpr std::string_view stopped_name = "cairn.stopped";
constexpr std::string_view command_login = "cairn";
constexpr std::size_t socket_path_max = 107;
constexpr std::chrono::seconds start_max{60};
constexpr std::chrono::seconds stop_max{60};
constexpr std::chrono::milliseconds poll_pause{20};

Error unavailable(const std::string& says) { return {Code::unavailable, says}; }

// --- paths ----------------------------------------------------------------------------------------------------------

// The socket's directory: the data directory if its path is short enough for a socket, else one under /tmp, named by
// the path's hash.
fs::path socket_folder(const fs::path& directory) {
  const std::size_t name_size = std::string_view("/.s.PGSQL.5432.lock").size();
  if (directory.string().size() + name_size <= socket_path_max) return directory;
  return fs::path("/tmp") / ("cairn-" + hex(sha256(directory.string())).substr(0, 16));
}

std::string dsn_value(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

std::string dsn_of(const fs::path& directory, std::string_view user, std::string_view database) {
  return "host=" + dsn_value(socket_folder(directory).string()) + " port=" + std::to_string(cluster_port) +
         " user=" + std::string(user) + " dbname=" + std::string(database);
}

std::string owner_dsn(const fs::path& directory, std::string_view database) {
  return dsn_of(directory, cluster_owner, database) + " passfile=" + dsn_value((directory / password_name).string());
}

Cluster cluster_in(const fs::path& directory) {
  return {directory.string(), dsn_of(directory, command_login, "cairn"), owner_dsn(directory, "cairn"), false};
}

// --- one at a time ---------------------------------------------------------------------------------------------------

class DirectoryLock {
 public:
  explicit DirectoryLock(const fs::path& directory)
      : file_(open((directory / lock_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    held_ = file_ >= 0 && flock(file_, LOCK_EX) == 0;
  }
  ~DirectoryLock() {
    if (file_ >= 0) close(file_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  bool is_held() const { return held_; }

 private:
  int file_;
  bool held_ = false;
};

// --- states ----------------------------------------------------------------------------------------------------------

bool is_ours(const fs::path& directory) { return read_text(directory / marker_name) == marker_text; }

// True if an attempt to create the cluster was interrupted: everything in the directory is ours then.
bool is_begun(const fs::path& directory) { return read_text(directory / marker_name) == marker_begun; }

// Atomic: the old marker stays until the new one is complete.
bool write_marker(const fs::path& directory, std::string_view text) {
  const fs::path next = directory / marker_next_name;
  std::ofstream file(next);
  file << text;
  file.close();
  std::error_code fault;
  if (file) fs::rename(next, directory / marker_name, fault);
  if (file && !fault) return true;
  fs::remove(next, fault);
  return false;
}

// Refused as `unavailable`, in the server's words, until it answers the owner in this database.
Status reach(const fs::path& directory, std::string_view database) {
  try {
    const Administration connected(owner_dsn(directory, database), "cairn", opening_limit_ms);
    return Done{};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, failure.what()};
  }
}

Status prepare_directory(const fs::path& directory) {
  std::error_code fault;
  fs::create_directories(directory, fault);
  if (fault) {
    return Error{Code::invalid, "Expected to make the directory " + directory.string() + ", but: " + fault.message()};
  }
  if (is_ours(directory) || is_begun(directory)) return Done{};
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, fault)) {
    const fs::path name = entry.path().filename();
    if (name == lock_name || name == output_name || name == marker_next_name) continue;
    if (name.string().starts_with("checkpoints")) continue;  // signed before, for a database that a DSN names
    return Error{Code::invalid, "Expected " + directory.string() + " to be empty or a cluster of cairn, but it holds " +
                                    entry.path().filename().string() + "."};
  }
  if (fault) {
    return Error{Code::invalid, "Expected to read the directory " + directory.string() + ", but: " + fault.message()};
  }
  return Done{};
}

// Refuses `unavailable` (no programs), `unsupported` (none of the data's version).
Result<fs::path> programs_of_cluster(const fs::path& directory) {
  const int data = version_of_data(data_of(directory));
  const Result<fs::path> programs = programs_for(data);
  if (!programs) return programs;
  const int found = version_of_programs(*programs, directory / output_name);
  if (data == found) return programs;
  return Error{Code::unsupported, "Expected programs of PostgreSQL " + std::to_string(data) + " for the data in " +
                                      directory.string() + ", but those in " + programs->string() + " are of version " +
                                      std::to_string(found) + ": CAIRN_PG_BIN may name the folder of the others."};
}

Status initialise(const fs::path& directory, const fs::path& programs, const ServerAccount& account) {
  const fs::path data = data_of(directory);
  if (!write_marker(directory, marker_begun))
    return unavailable("Expected to write in " + directory.string() + ", but could not.");
  std::error_code fault;
  fs::remove_all(data, fault);  // from an interrupted attempt
  fs::remove(directory / password_name, fault);
  fs::create_directory(data, fault);
  if (fault || !give_to(account, data) || !give_to(account, directory)) {
    return unavailable("Expected to make " + data.string() + " for the server, but could not.");
  }
  const ProgramRun ran =
      run_program(account,
                  {(programs / "initdb").string(), "-D", data.string(), "-U", std::string(cluster_owner), "-A", "trust",
                   "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions"},
                  directory / output_name);
  if (ran.exit != 0) return unavailable("Expected to initialise a database cluster, but: " + ran.says);
  std::ofstream configuration(data / "postgresql.conf", std::ios::app);
  configuration << "\ninclude 'cairn.conf'\n";
  configuration.close();
  if (!configuration || !write_marker(directory, marker_text))
    return unavailable("Expected to write in " + directory.string() + ", but could not.");
  return Done{};
}

// A socket folder under /tmp is refused unless it is the account's alone: who made it first could put another server's
// socket there.
Status check_socket_folder(const fs::path& folder, const ServerAccount& account) {
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0) return Done{};  // nothing can listen there
  const bool is_ours = found.st_uid == account.user || found.st_uid == geteuid();
  if (S_ISDIR(found.st_mode) && is_ours && (found.st_mode & 077) == 0) return Done{};
  return unavailable("Expected " + folder.string() + ", the folder of the server's socket, to be a folder of user " +
                     std::to_string(account.user) + " that nobody else may enter (mode 0700), but it is not.");
}

Status make_socket_folder(const fs::path& folder, const ServerAccount& account) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return unavailable("Expected to make the socket's directory " + folder.string() + ", but: " + std::strerror(errno) +
                       ".");
  if (const Status safe = check_socket_folder(folder, account); !safe) return safe;
  if (give_to(account, folder)) return Done{};
  return unavailable("Expected to give the socket's directory " + folder.string() +
                     " to the server, but: " + std::strerror(errno) + ".");
}

// It would be the same in a minute: the file with the password is not this server's.
bool is_final(const Error& refusal) { return refusal.message.find("authentication failed") != std::string::npos; }

// Waits for a server that has been started until it answers; the time of a recovery does not count where that is
// what the server was started for. `server`: nothing if it has ended.
template <class FindServer>
Status wait_for_answer(const fs::path& directory, const std::optional<Recovery>& recovery, const FindServer& server) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point until = Clock::now() + start_max;;) {
    Status reached = reach(directory, "postgres");
    if (reached || is_final(reached.error()) || !server() || Clock::now() > until) return reached;
    if (recovery && is_recovering(data_of(directory))) until = Clock::now() + start_max;
    std::this_thread::sleep_for(poll_pause);
  }
}

// Children of a server that was killed end by themselves; until then the data cannot be opened.
void wait_until_unused(const fs::path& data) {
  const auto until = std::chrono::steady_clock::now() + stop_max;
  while (is_in_use(data) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(poll_pause);
}

Status launch(const fs::path& directory, const fs::path& programs, const ServerAccount& account,
              const std::optional<Recovery>& recovery) {
  const fs::path data = data_of(directory), socket = socket_folder(directory), log = directory / "server.log";
  if (socket != directory)
    if (const Status made = make_socket_folder(socket, account); !made) return made;
  if (!write_settings(directory, socket, account))
    return unavailable("Expected to write the server's settings in " + data.string() + ", but could not.");
  std::error_code none;
  fs::remove(directory / stopped_name, none);
  wait_until_unused(data);
  if (is_in_use(data)) return unavailable("Expected nobody to work in " + data.string() + ", but a process does.");
  remove_stale_lock(data / "postmaster.pid");
  remove_stale_lock(socket / (".s.PGSQL." + std::to_string(cluster_port) + ".lock"));
  const std::uintmax_t logged = fs::exists(log) ? fs::file_size(log, none) : 0;
  if (recovery && !recovery->wal.empty() && !write_server_file(account, data / "recovery.signal", ""))
    return unavailable("Expected to write in " + data.string() + ", but could not.");
  const Result<pid_t> server = start_program(account, server_command(programs, data, recovery), log);
  if (!server) return server.error();
  const Status answered = wait_for_answer(directory, recovery, [&] { return is_running(*server); });
  if (answered) return Done{};
  const std::string text = read_text(log);
  return unavailable("Expected the database server to start, but: " +
                     (is_running(*server) ? answered.error().message
                                          : last_lines(text.substr(std::min<std::size_t>(logged, text.size())))));
}

std::string random_text() {
  std::array<std::uint8_t, 32> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return hex(bytes);
}

// The database, and a password for the owner of a cluster that has none yet.
Status complete(const fs::path& directory, const ServerAccount& account) {
  try {
    Administration server(owner_dsn(directory, "postgres"), "cairn");
    if (server.query("has_database").size() == 0) server.execute("CREATE DATABASE cairn");
    if (fs::exists(directory / password_name)) return Done{};
    const std::string owner(cluster_owner), password = random_text();
    server.execute("ALTER ROLE " + owner + " PASSWORD '" + password + "'");
    const bool written =
        write_server_file(account, directory / password_name, "*:*:*:" + owner + ":" + password + "\n");
    if (!written || !write_entrance(directory, account))
      return unavailable("Expected to write the owner's password in " + directory.string() + ", but could not.");
    server.query("reload_settings");
    return Done{};
  } catch (const PostgresError& failure) {
    return unavailable(std::string("Expected to create the database cairn, but: ") + failure.what());
  }
}

Status stop_server(const fs::path& directory, pid_t server) {
  if (kill(server, SIGINT) != 0)
    return unavailable("Expected the database server to stop, but: " + std::string(std::strerror(errno)) + ".");
  const auto until = std::chrono::steady_clock::now() + stop_max;
  while (is_running(server) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(poll_pause);
  if (is_running(server))
    return unavailable("Expected the database server to stop, but process " + std::to_string(server) + " still runs.");
  std::error_code none;
  if (const fs::path socket = socket_folder(directory); socket != directory) fs::remove(socket, none);
  return Done{};
}

// A server whose programs were replaced makes way for the new ones if they can start it and no one else is connected.
Result<bool> is_to_be_restarted(Cluster& cluster, pid_t server) {
  if (!is_program_replaced(server)) return false;
  if (const Result<fs::path> programs = programs_of_cluster(cluster.directory); !programs) {
    cluster.not_renewed = programs.error().message;
    return false;
  }
  try {
    return Administration(owner_dsn(cluster.directory, "postgres"), "cairn").query("others_connected").number(0, 0) ==
           0;
  } catch (const PostgresError& failure) {
    return unavailable(std::string("Expected to reach the database, but: ") + failure.what());
  }
}

// True if the server runs and answers; false: it is to be launched.
Result<bool> is_up(Cluster& cluster, const ServerAccount& account, const std::optional<Recovery>& recovery) {
  const fs::path directory = cluster.directory, data = data_of(directory), socket = socket_folder(directory);
  const std::optional<pid_t> server = server_of(data);
  if (!server) return false;
  if (socket != directory)
    if (const Status safe = check_socket_folder(socket, account); !safe) return safe.error();
  const Status answered = wait_for_answer(directory, recovery, [&] { return server_of(data).has_value(); });
  if (!server_of(data)) return false;
  if (!answered) return unavailable("Expected the database server to answer, but: " + answered.error().message);
  const Result<bool> restarts = is_to_be_restarted(cluster, *server);
  if (!restarts || !*restarts) return restarts ? Result<bool>(true) : restarts.error();
  if (const Status stopped = stop_server(directory, *server); !stopped) return stopped.error();
  return false;
}

Result<Cluster> start_locked(const fs::path& directory, const std::optional<Recovery>& recovery) {
  const Status fit = prepare_directory(directory);
  if (!fit) return fit.error();
  const Result<ServerAccount> account = server_account(data_of(directory));
  if (!account) return account.error();
  Cluster cluster = cluster_in(directory);
  if (is_ours(directory)) {
    const Result<bool> up = is_up(cluster, *account, recovery);
    if (!up) return up.error();
    if (*up) {
      const Status done = complete(directory, *account);
      return done ? Result<Cluster>(cluster) : done.error();
    }
  }
  const bool is_new = !is_ours(directory);
  const Result<fs::path> programs = is_new ? programs_for(0) : programs_of_cluster(directory);
  if (!programs) return programs.error();
  Status done = is_new ? initialise(directory, *programs, *account) : Status(Done{});
  if (done) done = launch(directory, *programs, *account, recovery);
  if (done) done = complete(directory, *account);
  if (!done) return done.error();
  cluster.started = true;
  return cluster;
}

}  // namespace

Result<Cluster> start_cluster(const std::string& directory, const std::optional<Recovery>& recovery) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return path.error();
  std::error_code fault, not_made;
  fs::create_directories(*path, not_made);
  if (!fs::is_directory(*path, fault)) {
    const std::string why = not_made ? " and none can be made: " + not_made.message() : "";
    return Error{Code::invalid, "Expected a directory at " + path->string() + ", but there is none" + why + "."};
  }
  const auto is_locked_once = [&] { return fs::exists(*path / lock_name, fault); };
  if (!is_locked_once()) {  // not ours: no lock is left in a directory of another program
    if (const Status fit = prepare_directory(*path); !fit && !is_locked_once()) return fit.error();
  }
  const DirectoryLock lock(*path);
  if (!lock.is_held()) {
    return Error{Code::invalid, "Expected to lock the directory " + path->string() + ", but may not write there."};
  }
  return start_locked(*path, recovery);
}

Status stop_cluster(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return path.error();
  const Error absent{Code::not_found, "Expected a running database in " + path->string() + ", but there is none."};
  if (!is_ours(*path)) return absent;
  const DirectoryLock lock(*path);
  const std::optional<pid_t> server = server_of(data_of(*path));
  if (!server) return absent;
  std::ofstream(*path / stopped_name) << "By `cairn down`.\n";  // before, so that `cairn up` does not start it again
  return stop_server(*path, *server);
}

bool was_stopped(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  return path && fs::exists(*path / stopped_name);
}

Status let_commands_in(const Cluster& cluster) {
  try {
    Administration owner(cluster.owner_dsn, "cairn");
    owner.begin();
    owner.query("lock_migrations");  // one at a time: two processes may have found no login
    owner.execute(std::string(embedded_login()));
    owner.commit();
    return Done{};
  } catch (const PostgresError& failure) {
    return unavailable(std::string("Expected to let the login cairn in, but: ") + failure.what());
  }
}

bool mark_cluster(const std::string& directory) { return write_marker(directory, marker_text); }

bool is_cluster(const std::string& directory) { return is_ours(directory); }

Result<Cluster> find_cluster(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return path.error();
  const Error absent{Code::not_found, "Expected a running database in " + path->string() + ", but there is none."};
  if (!is_ours(*path) || !server_of(data_of(*path))) return absent;
  const Result<ServerAccount> account = server_account(data_of(*path));
  if (!account) return account.error();
  if (const fs::path socket = socket_folder(*path); socket != *path)
    if (const Status safe = check_socket_folder(socket, *account); !safe) return safe.error();
  return cluster_in(*path);
}

bool has_older_programs(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  const std::optional<pid_t> server = path ? server_of(data_of(*path)) : std::nullopt;
  return server && is_program_replaced(*server);
}

// pg_control begins with it, in the byte order of the machine that made it.
std::optional<std::uint64_t> system_identifier(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return std::nullopt;
  std::ifstream file(data_of(*path) / "global" / "pg_control", std::ios::binary);
  std::uint64_t identifier = 0;
  if (!file.read(reinterpret_cast<char*>(&identifier), sizeof identifier)) return std::nullopt;
  return identifier;
}

}  // namespace cairn
