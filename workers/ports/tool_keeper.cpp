// The keeper of a program: a small static program, part of `cairn` as bytes, that stands between a worker and one
// program that it runs. It starts the program under its limits, adopts all that the program leaves behind, and ends all
// of it when the program ends, when the worker says so, or when the worker is gone. One thread; no memory is allocated.
//
//   keeper FDS CPU_SECONDS MEMORY_BYTES OPEN_FILES FILE_BYTES PROCESSES UID GID GROUPS PROGRAM [ARGUMENT]...
//
// Descriptors 0 to FDS-1 are the program's, descriptor FDS is the worker's line: its end means "end all", and the one
// KeeperReport is written to it when nothing of the program is left. "-" leaves a limit or a user as it is.
#include "workers/ports/tool_keeper.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

using cairn::KeeperReport;

constexpr int arguments_before_program = 10;
constexpr int groups_max = 1024;
constexpr long ending_ms_max = 5'000;  // for what the kernel lets end later only
constexpr long poll_ms = 2;

struct Limit {
  int resource;
  int argument;
};
// The argument that holds it; 0: none may dump core.
constexpr Limit limits[] = {{RLIMIT_CPU, 2},   {RLIMIT_DATA, 3},  {RLIMIT_NOFILE, 4},
                            {RLIMIT_FSIZE, 5}, {RLIMIT_NPROC, 6}, {RLIMIT_CORE, 0}};

bool is_left(const char* argument) { return std::strcmp(argument, "-") == 0; }
unsigned long number_of(const char* argument) { return std::strtoul(argument, nullptr, 10); }

// A hard limit that is lower already stays. At its limit of processor time a program gets SIGXCPU, a second later
// SIGKILL.
bool set_limit(int resource, rlim_t wanted) {
  const auto which = static_cast<__rlimit_resource_t>(resource);
  rlimit now{};
  if (::getrlimit(which, &now) != 0) return false;
  const rlim_t hard = resource == RLIMIT_CPU ? wanted + 1 : wanted;
  now.rlim_max = hard < now.rlim_max ? hard : now.rlim_max;
  now.rlim_cur = wanted < now.rlim_max ? wanted : now.rlim_max;
  return ::setrlimit(which, &now) == 0;
}

bool set_limits(char** arguments) {
  for (const Limit& limit : limits) {
    const char* wanted = limit.argument == 0 ? "0" : arguments[limit.argument];
    if (!is_left(wanted) && !set_limit(limit.resource, number_of(wanted))) return false;
  }
  return true;
}

bool become_user(char** arguments) {
  if (is_left(arguments[7])) return true;
  gid_t groups[groups_max];
  std::size_t count = 0;
  for (char* at = arguments[9]; *at != '\0' && *at != '-' && count < groups_max;) {
    groups[count++] = static_cast<gid_t>(std::strtoul(at, &at, 10));
    if (*at == ',') ++at;
  }
  const auto gid = static_cast<gid_t>(number_of(arguments[8]));
  const auto uid = static_cast<uid_t>(number_of(arguments[7]));
  return ::setgroups(count, groups) == 0 && ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0;
}

// From then on it sends signals to what it has started itself, and to nothing else: not to its keeper or the worker. A
// kernel older than 6.12 does not know this bound, and the program starts without it. REQUIRES: no_new_privs.
void keep_signals_inside() {
  constexpr std::uint64_t signals = 2;  // LANDLOCK_SCOPE_SIGNAL, which older headers lack
  const struct { std::uint64_t files, ports, scopes; } rules = {0, 0, signals};
  const long set = ::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0U);
  if (set < 0) return;
  ::syscall(SYS_landlock_restrict_self, set, 0U);
  ::close(static_cast<int>(set));
}

// In the program's own process. Its rights never grow again, so that its keeper can always end it.
[[noreturn]] void become_program(char** arguments, pid_t keeper, int says_errno) {
  sigset_t none;
  ::sigemptyset(&none);
  const bool is_ready = ::setpgid(0, 0) == 0 && set_limits(arguments) && become_user(arguments) &&
                        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
                        ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  if (::getppid() != keeper) ::_exit(127);  // the keeper was gone before it could be watched
  keep_signals_inside();
  if (is_ready) ::execvp(arguments[arguments_before_program], arguments + arguments_before_program);
  const int error = errno;
  static_cast<void>(!::write(says_errno, &error, sizeof error));
  ::_exit(127);
}

// The program's process, or -1: the report then says why there is none.
pid_t start_program(char** arguments, KeeperReport& report) {
  int ends[2];
  const bool has_line = ::pipe2(ends, O_CLOEXEC) == 0;
  const pid_t keeper = ::getpid();
  const pid_t program = has_line ? ::fork() : -1;
  if (program < 0) {
    report = {KeeperReport::lacking, errno};
    return program;
  }
  if (program == 0) become_program(arguments, keeper, ends[1]);
  ::close(ends[1]);
  int error = 0;
  const ssize_t received = ::read(ends[0], &error, sizeof error);
  ::close(ends[0]);
  if (received != sizeof error) return program;
  ::waitpid(program, nullptr, 0);
  report = {KeeperReport::not_started, error};
  return -1;
}

// The parent of a process, by /proc/PID/stat: the second field after the name in parentheses; 0 if it is gone.
pid_t parent_of(const char* pid) {
  char path[64];
  if (std::snprintf(path, sizeof path, "/proc/%s/stat", pid) >= static_cast<int>(sizeof path)) return 0;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const ssize_t bytes = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* name_end = std::strrchr(text, ')');
  if (name_end == nullptr || std::strlen(name_end) < 5) return 0;
  return static_cast<pid_t>(std::strtol(name_end + 4, nullptr, 10));  // ") S PARENT"
}

// Adopted processes are children as well, whatever session or group they made.
void kill_children() {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return;
  const pid_t self = ::getpid();
  while (const dirent* entry = ::readdir(processes)) {
    const bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (is_process && parent_of(entry->d_name) == self) ::kill(static_cast<pid_t>(number_of(entry->d_name)), SIGKILL);
  }
  ::closedir(processes);
}

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// Reaps all that have ended. False: no child is left. The program's group is killed before the program is reaped:
// until then the group's number is surely its own.
bool reap(pid_t program, KeeperReport& report) {
  for (;;) {
    siginfo_t gone{};
    if (::waitid(P_ALL, 0, &gone, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != ECHILD;
    if (gone.si_pid == 0) return true;
    if (gone.si_pid == program) ::kill(-program, SIGKILL);
    int status = 0;
    ::waitpid(gone.si_pid, &status, 0);
    if (gone.si_pid != program) continue;
    report.kind = WIFEXITED(status) ? KeeperReport::exited : KeeperReport::signalled;
    report.number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }
}

// A child's children become ours when it ends, so that this ends when no descendant is left.
void end_all(pid_t program, KeeperReport& report) {
  if (report.kind == KeeperReport::running) ::kill(-program, SIGKILL);
  const long until = now_ms() + ending_ms_max;
  const timespec pause{0, poll_ms * 1'000'000};
  while (reap(program, report) && now_ms() < until) {
    kill_children();
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigtimedwait(&child, nullptr, &pause);
  }
}

void await_end(pid_t program, int line, KeeperReport& report) {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  const int signals = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  while (reap(program, report) && report.kind == KeeperReport::running) {
    pollfd ends[2] = {{line, POLLIN | POLLRDHUP, 0}, {signals, POLLIN, 0}};
    if (::poll(ends, 2, signals < 0 ? static_cast<int>(poll_ms) : -1) < 0) continue;
    if (ends[0].revents != 0) return;
    signalfd_siginfo taken;
    static_cast<void>(!::read(signals, &taken, sizeof taken));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count <= arguments_before_program) return 2;
  const auto line = static_cast<int>(number_of(arguments[1]));
  ::close_range(static_cast<unsigned>(line) + 1, ~0U, 0);
  ::fcntl(line, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_NAME, "cairn-keeper", 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  KeeperReport report;
  const pid_t program = start_program(arguments, report);
  for (int own = 0; own < line; ++own) ::close(own);
  if (program >= 0) {
    await_end(program, line, report);
    end_all(program, report);
  }
  static_cast<void>(!::write(line, &report, sizeof report));
  return 0;
}
