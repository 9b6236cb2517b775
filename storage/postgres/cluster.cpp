#include "storage/postgres/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "storage/chain.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view marker_name = "CAIRN";
constexpr std::string_view marker_next_name = "CAIRN.next";
constexpr std::string_view lock_name = "cairn.lock";
constexpr std::string_view marker_text = "A private PostgreSQL cluster of cairn.\n";
constexpr std::string_view marker_begun = "A private PostgreSQL cluster of cairn, being made.\n";
constexpr std::string_view output_name = "cairn.out";
constexpr std::string_view server_user = "postgres";
constexpr int port = 5432;  // names the socket; nothing listens on TCP
constexpr std::size_t socket_path_max = 107;

// Written at each start into a file that postgresql.conf includes; settings after the include there win.
constexpr std::string_view settings =
    "listen_addresses = ''\n"
    "unix_socket_permissions = 0700\n"
    "max_connections = 100\n"
    "shared_buffers = 256MB\n"
    "effective_cache_size = 1GB\n"
    "maintenance_work_mem = 128MB\n"
    "max_wal_size = 4GB\n"
    "min_wal_size = 256MB\n"
    "checkpoint_completion_target = 0.9\n"
    "wal_buffers = 16MB\n"
    "wal_compression = off\n"
    "fsync = on\n"
    "synchronous_commit = on\n"
    "autovacuum_naptime = 10s\n"
    "autovacuum_vacuum_cost_limit = 2000\n"
    "jit = off\n"
    "timezone = 'UTC'\n"
    "log_timezone = 'UTC'\n"
    "logging_collector = off\n";

Error unavailable(const std::string& says) { return {Code::unavailable, says}; }

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t size_max = 600;
  std::string tail = text.size() > size_max ? text.substr(text.size() - size_max) : text;
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  std::replace(tail.begin(), tail.end(), '\n', ' ');
  return tail;
}

// --- paths ----------------------------------------------------------------------------------------------------------

std::optional<fs::path> find_programs() {
  if (const char* given = std::getenv("CAIRN_PG_BIN")) {
    if (fs::exists(fs::path(given) / "initdb")) return given;
    return std::nullopt;
  }
  std::optional<fs::path> newest;
  int newest_version = 0;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/lib/postgresql", none)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version <= newest_version || !fs::exists(entry.path() / "bin" / "initdb")) continue;
    newest = entry.path() / "bin";
    newest_version = version;
  }
  if (newest) return newest;
  for (const char* folder : {"/usr/bin", "/usr/local/bin", "/usr/local/pgsql/bin", "/opt/homebrew/bin"}) {
    if (fs::exists(fs::path(folder) / "initdb")) return folder;
  }
  return std::nullopt;
}

// The socket's directory: the data directory if its path is short enough for a socket, else one under /tmp, named by
// the path's hash.
fs::path socket_folder(const fs::path& directory) {
  const std::size_t name_size = std::string_view("/.s.PGSQL.5432.lock").size();
  if (directory.string().size() + name_size <= socket_path_max) return directory;
  return fs::path("/tmp") / ("cairn-" + hex(sha256(directory.string())).substr(0, 16));
}

std::string dsn_of(const fs::path& directory, std::string_view database) {
  const fs::path socket = socket_folder(directory);
  std::string quoted;
  for (const char letter : socket.string()) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return "host='" + quoted + "' port=" + std::to_string(port) + " user=" + std::string(server_user) +
         " dbname=" + std::string(database);
}

// --- the server's account --------------------------------------------------------------------------------------------

struct Account {
  uid_t user = 0;
  gid_t group = 0;
};

// Root may not run the server: the owner of an existing directory does, else the user `postgres`.
Result<Account> server_account(const fs::path& directory) {
  if (geteuid() != 0) return Account{geteuid(), getegid()};
  struct stat found {};
  if (stat((directory / "PG_VERSION").c_str(), &found) == 0 && found.st_uid != 0) {
    return Account{found.st_uid, found.st_gid};
  }
  const passwd* const entry = getpwnam(std::string(server_user).c_str());
  if (entry == nullptr) return unavailable("Expected a user postgres to run the server as, but there is none.");
  return Account{entry->pw_uid, entry->pw_gid};
}

struct Ran {
  int exit = 0;
  std::string says;  // both streams
};

// Runs a program as that account, without a shell, and waits. Processes that it leaves in the background must not keep
// our pipe.
Ran run_as(const Account& account, const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (out < 0) return {127, "cannot write " + output.string()};
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    const bool ready = dup2(nothing, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0 && chdir("/") == 0;
    const bool changed =
        geteuid() != 0 || (setgroups(0, nullptr) == 0 && setgid(account.group) == 0 && setuid(account.user) == 0);
    if (!ready || !changed) _exit(126);
    for (int file = 3; file < 1024; ++file) close(file);
    setenv("LC_ALL", "C.UTF-8", 1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(out);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return {127, "cannot start " + command[0]};
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, last_lines(read_text(output))};
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

fs::path data_of(const fs::path& directory) { return directory / "data"; }

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

// The server's process, if it is alive.
std::optional<pid_t> server_pid(const fs::path& directory) {
  std::ifstream file(data_of(directory) / "postmaster.pid");
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 1) return std::nullopt;
  if (kill(pid, 0) != 0 && errno == ESRCH) return std::nullopt;
  return pid;
}

bool answers(const fs::path& directory, std::string_view database) {
  try {
    const Administration connected(dsn_of(directory, database), "cairn", opening_limit_ms);
    return true;
  } catch (const PostgresError&) {
    return false;
  }
}

bool give_to(const Account& account, const fs::path& path) {
  return geteuid() != 0 || chown(path.c_str(), account.user, account.group) == 0;
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
    return Error{Code::invalid, "Expected " + directory.string() + " to be empty or a cluster of cairn, but it holds " +
                                    entry.path().filename().string() + "."};
  }
  if (fault) {
    return Error{Code::invalid, "Expected to read the directory " + directory.string() + ", but: " + fault.message()};
  }
  return Done{};
}

Status check_version(const fs::path& directory, const fs::path& programs) {
  const int data = std::atoi(read_text(data_of(directory) / "PG_VERSION").c_str());
  const Ran ran =
      run_as({geteuid(), getegid()}, {(programs / "pg_ctl").string(), "--version"}, directory / output_name);
  const std::size_t digits = ran.says.find_first_of("0123456789");
  const int program = digits == std::string::npos ? 0 : std::atoi(ran.says.c_str() + digits);
  if (data == program) return Done{};
  return Error{Code::unsupported, "Expected data of PostgreSQL " + std::to_string(program) + ", but " +
                                      directory.string() + " holds data of version " + std::to_string(data) + "."};
}

Status initialise(const fs::path& directory, const fs::path& programs, const Account& account) {
  const fs::path data = data_of(directory);
  if (!write_marker(directory, marker_begun))
    return unavailable("Expected to write in " + directory.string() + ", but could not.");
  std::error_code fault;
  fs::remove_all(data, fault);  // from an interrupted attempt
  fs::create_directory(data, fault);
  if (fault || !give_to(account, data) || !give_to(account, directory)) {
    return unavailable("Expected to make " + data.string() + " for the server, but could not.");
  }
  const Ran ran = run_as(account,
                         {(programs / "initdb").string(), "-D", data.string(), "-U", std::string(server_user), "-A",
                          "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-instructions"},
                         directory / output_name);
  if (ran.exit != 0) return unavailable("Expected to initialise a database cluster, but: " + ran.says);
  std::ofstream configuration(data / "postgresql.conf", std::ios::app);
  configuration << "\ninclude 'cairn.conf'\n";
  configuration.close();
  if (!configuration || !write_marker(directory, marker_text))
    return unavailable("Expected to write in " + directory.string() + ", but could not.");
  return Done{};
}

// A path as an element of a list in a quoted setting.
std::string quoted_setting(const fs::path& path) {
  std::string element = "'\"";
  for (const char letter : path.string()) {
    if (letter == '\'' || letter == '"' || letter == '\\') element += letter;
    element += letter;
  }
  return element + "\"'";
}

bool write_settings(const fs::path& directory, const fs::path& socket) {
  const fs::path path = data_of(directory) / "cairn.conf";
  std::ofstream file(path);
  file << settings << "port = " << port << "\nunix_socket_directories = " << quoted_setting(socket) << "\n";
  file.close();
  std::error_code fault;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read,
                  fault);
  return file.good() && !fault;
}

Status launch(const fs::path& directory, const fs::path& programs, const Account& account) {
  const fs::path socket = socket_folder(directory);
  std::error_code fault;
  fs::create_directories(socket, fault);
  if (fault || !give_to(account, socket)) {
    return unavailable("Expected to make the socket's directory " + socket.string() + ", but could not.");
  }
  if (socket != directory) fs::permissions(socket, fs::perms::owner_all, fault);
  const fs::path log = directory / "server.log";
  std::ofstream(log, std::ios::app);
  give_to(account, log);
  if (!write_settings(directory, socket)) {
    return unavailable("Expected to write the server's settings in " + data_of(directory).string() +
                       ", but could not.");
  }
  const Ran ran = run_as(account,
                         {(programs / "pg_ctl").string(), "-D", data_of(directory).string(), "-l", log.string(), "-w",
                          "-t", "60", "start"},
                         directory / output_name);
  if (ran.exit == 0) return Done{};
  return unavailable("Expected the database server to start, but: " + ran.says + " " + last_lines(read_text(log)));
}

Status create_database(const fs::path& directory) {
  try {
    Administration server(dsn_of(directory, "postgres"), "cairn");
    if (server.query("has_database").size() > 0) return Done{};
    server.execute("CREATE DATABASE cairn");
    return Done{};
  } catch (const PostgresError& failure) {
    return unavailable(std::string("Expected to create the database cairn, but: ") + failure.what());
  }
}

Result<fs::path> absolute_path(const std::string& directory) {
  std::error_code fault;
  fs::path path = fs::weakly_canonical(fs::absolute(directory, fault), fault);
  if (directory.empty() || fault) return Error{Code::invalid, "Expected a directory, but got \"" + directory + "\"."};
  return path;
}

Result<fs::path> need_programs() {
  const auto programs = find_programs();
  if (!programs) {
    return unavailable(
        "Expected the programs of PostgreSQL (initdb, pg_ctl), but found none; CAIRN_PG_BIN may name "
        "their directory.");
  }
  return *programs;
}

Result<Cluster> start_locked(const fs::path& directory) {
  const Status fit = prepare_directory(directory);
  if (!fit) return fit.error();
  Cluster cluster{directory.string(), dsn_of(directory, "cairn"), false};
  if (server_pid(directory) && answers(directory, "cairn")) return cluster;
  const Result<fs::path> programs = need_programs();
  if (!programs) return programs.error();
  const Result<Account> account = server_account(data_of(directory));
  if (!account) return account.error();
  Status done = is_ours(directory) ? check_version(directory, *programs) : initialise(directory, *programs, *account);
  if (!done) return done.error();
  if (!answers(directory, "postgres")) {
    done = launch(directory, *programs, *account);
    if (!done) return done.error();
    cluster.started = true;
  }
  done = create_database(directory);
  if (!done) return done.error();
  return cluster;
}

}  // namespace

Result<Cluster> start_cluster(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return path.error();
  std::error_code fault;
  fs::create_directories(*path, fault);
  if (!fs::is_directory(*path, fault)) {
    return Error{Code::invalid, "Expected a directory at " + path->string() + ", but there is none."};
  }
  const auto is_locked_once = [&] { return fs::exists(*path / lock_name, fault); };
  if (!is_locked_once()) {  // not ours: no lock is left in a directory of another program
    if (const Status fit = prepare_directory(*path); !fit && !is_locked_once()) return fit.error();
  }
  const DirectoryLock lock(*path);
  if (!lock.is_held()) {
    return Error{Code::invalid, "Expected to lock the directory " + path->string() + ", but may not write there."};
  }
  return start_locked(*path);
}

Status stop_cluster(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return path.error();
  const Error absent{Code::not_found, "Expected a running database in " + path->string() + ", but there is none."};
  if (!is_ours(*path)) return absent;
  const DirectoryLock lock(*path);
  if (!server_pid(*path)) return absent;
  const Result<fs::path> programs = need_programs();
  if (!programs) return programs.error();
  const Result<Account> account = server_account(data_of(*path));
  if (!account) return account.error();
  const Ran ran =
      run_as(*account,
             {(*programs / "pg_ctl").string(), "-D", data_of(*path).string(), "-m", "fast", "-w", "-t", "60", "stop"},
             *path / output_name);
  if (ran.exit != 0) return unavailable("Expected the database server to stop, but: " + ran.says);
  if (const fs::path socket = socket_folder(*path); socket != *path) {
    std::error_code none;
    fs::remove(socket, none);
  }
  return Done{};
}

bool is_cluster(const std::string& directory) { return is_ours(directory); }

Result<Cluster> find_cluster(const std::string& directory) {
  const Result<fs::path> path = absolute_path(directory);
  if (!path) return path.error();
  if (is_ours(*path) && server_pid(*path) && answers(*path, "cairn")) {
    return Cluster{path->string(), dsn_of(*path, "cairn"), false};
  }
  return Error{Code::not_found, "Expected a running database in " + path->string() + ", but there is none."};
}

}  // namespace cairn
