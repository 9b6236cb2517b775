#include "storage/server/server_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <pwd.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr const char* server_user = "postgres";
constexpr std::string_view replaced = " (deleted)";  // as Linux ends the name of a file that is gone

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> short_environment() {
  std::vector<std::string> entries = {"LC_ALL=C.UTF-8"};
  for (const char* name : {"PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH"})
    if (const char* value = std::getenv(name)) entries.push_back(std::string(name) + "=" + value);
  return entries;
}

// All that a child needs to become a program: made before the fork, after which nothing may be allocated.
class Image {
 public:
  Image(const ServerAccount& account, std::vector<std::string> command, int out)
      : account_(account), words_(std::move(command)), out_(out) {}

  [[noreturn]] void become() {
    const int nothing = open("/dev/null", O_RDONLY);
    const bool ready = dup2(nothing, 0) >= 0 && dup2(out_, 1) >= 0 && dup2(out_, 2) >= 0 && chdir("/") == 0;
    const bool changed =
        geteuid() != 0 || (setgroups(0, nullptr) == 0 && setgid(account_.group) == 0 && setuid(account_.user) == 0);
    if (!ready || !changed) _exit(126);
    close_range(3, ~0U, 0);
    execve(arguments_[0], arguments_.data(), variables_.data());
    _exit(127);
  }

 private:
  const ServerAccount account_;
  std::vector<std::string> words_;
  std::vector<std::string> entries_ = short_environment();
  std::vector<char*> arguments_ = pointers_of(words_);
  std::vector<char*> variables_ = pointers_of(entries_);
  const int out_;
};

// The process that starts the program ends at once, so that the program is not our child.
[[noreturn]] void start_and_leave(Image& image, int report) {
  const pid_t started = fork();
  if (started == 0) {
    setsid();
    const rlimit memory{server_memory_max, server_memory_max};
    setrlimit(RLIMIT_DATA, &memory);  // refused: it is less already
    image.become();
  }
  const bool reported = write(report, &started, sizeof started) == sizeof started;
  _exit(reported ? 0 : 1);
}

fs::path proc(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

fs::path link_of(pid_t pid, const char* name) {
  std::error_code hidden;  // another user's, or gone
  return fs::read_symlink(proc(pid) / name, hidden);
}

bool is_zombie(pid_t pid) {
  const std::string stat = read_text(proc(pid) / "stat");  // the state follows the name in parentheses
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'Z';
}

bool works_in(pid_t pid, const fs::path& data) {
  std::error_code fault;
  const fs::path there = link_of(pid, "cwd");
  return !there.empty() && fs::equivalent(there, data, fault) && !fault;
}

bool is_server(pid_t pid, const fs::path& data) {
  if (!fs::exists("/proc/self")) return true;
  return read_text(proc(pid) / "comm") == "postgres\n" && works_in(pid, data);
}

// The number in the file, if there is one.
std::optional<pid_t> noted_pid(const fs::path& lock_file) {
  std::ifstream file(lock_file);
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 1) return std::nullopt;
  return pid;
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_lines(const std::string& text, std::size_t bytes_max) {
  std::string lines = text.substr(0, text.find_last_not_of('\n') + 1);
  if (lines.size() > bytes_max) {
    const std::size_t next = lines.find('\n', lines.size() - bytes_max - 1);
    lines.erase(0, (next == std::string::npos ? lines.rfind('\n') : next) + 1);
  }
  std::replace(lines.begin(), lines.end(), '\n', ' ');
  return lines;
}

Result<ServerAccount> server_account(const fs::path& data) {
  if (geteuid() != 0) return ServerAccount{geteuid(), getegid()};
  struct stat found {};
  if (stat((data / "PG_VERSION").c_str(), &found) == 0 && found.st_uid != 0)
    return ServerAccount{found.st_uid, found.st_gid};
  const passwd* const entry = getpwnam(server_user);
  if (entry == nullptr)
    return Error{Code::unavailable, "Expected a user postgres to run the server as, but there is none."};
  return ServerAccount{entry->pw_uid, entry->pw_gid};
}

bool give_to(const ServerAccount& account, const fs::path& path) {
  return geteuid() != 0 || lchown(path.c_str(), account.user, account.group) == 0;
}

ProgramRun run_program(const ServerAccount& account, const std::vector<std::string>& command, const fs::path& output) {
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (out < 0) return {127, "cannot write " + output.string()};
  Image image(account, command, out);
  const pid_t child = fork();
  if (child == 0) image.become();
  close(out);
  int status = 0;
  pid_t ended = -1;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
  if (ended != child || child < 0) return {127, "cannot start " + command[0]};
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, last_lines(read_text(output))};
}

Result<pid_t> start_program(const ServerAccount& account, const std::vector<std::string>& command,
                            const fs::path& log) {
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  int ends[2] = {-1, -1};
  const bool ready = out >= 0 && fchmod(out, 0600) == 0 && give_to(account, log) && pipe2(ends, O_CLOEXEC) == 0;
  const std::string fault = std::strerror(errno);
  pid_t started = -1;
  if (ready) {
    Image image(account, command, out);
    const pid_t child = fork();
    if (child == 0) start_and_leave(image, ends[1]);
    close(ends[1]);
    if (read(ends[0], &started, sizeof started) != sizeof started) started = -1;
    close(ends[0]);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (out >= 0) close(out);
  if (!ready)
    return Error{Code::unavailable, "Expected to write the server's log " + log.string() + ", but: " + fault + "."};
  if (started <= 0) return Error{Code::unavailable, "Expected to start " + command[0] + ", but could not."};
  return started;
}

bool is_running(pid_t pid) {
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) return false;
  return !is_zombie(pid);
}

std::optional<pid_t> server_of(const fs::path& data) {
  const std::optional<pid_t> pid = noted_pid(data / "postmaster.pid");
  if (!pid || !is_running(*pid) || !is_server(*pid, data)) return std::nullopt;
  return pid;
}

// The state is in the eighth line.
bool is_recovering(const fs::path& data) {
  std::ifstream file(data / "postmaster.pid");
  std::string line;
  for (int number = 1; number <= 8; ++number)
    if (!std::getline(file, line)) return false;
  return line.starts_with("starting");
}

bool is_program_replaced(pid_t server) { return link_of(server, "exe").string().ends_with(replaced); }

bool is_in_use(const fs::path& data) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", none)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && works_in(pid, data)) return true;
  }
  return false;
}

void remove_stale_lock(const fs::path& lock_file) {
  const std::optional<pid_t> pid = noted_pid(lock_file);
  const bool has_ended = pid && kill(*pid, 0) != 0 && errno == ESRCH;
  std::error_code none;
  if (!has_ended) fs::remove(lock_file, none);
}

}  // namespace cairn
