#include "ops/terminal/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// While it lives no signal to stop arrives: between fork and exec one would meet our handler in the child and be lost.
class StopSignalsHeldBack {
 public:
  StopSignalsHeldBack() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stop, &before_);
  }
  ~StopSignalsHeldBack() { release(); }
  StopSignalsHeldBack(const StopSignalsHeldBack&) = delete;
  StopSignalsHeldBack& operator=(const StopSignalsHeldBack&) = delete;
  void release() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Only what is safe between fork and exec in a process with threads: no allocation.
[[noreturn]] void become(char** argv, char** variables, pid_t parent, int out, const StopSignalsHeldBack& held_back) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  held_back.release();
  execve("/proc/self/exe", argv, variables);
  _exit(127);
}

}  // namespace

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) entries.push_back(text);
  }
  for (const auto& [name, value] : changes) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

ChildProcess::ChildProcess(const ChildCommand& command) {
  std::vector<std::string> words = {"cairn"};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> entries = environment_with(command.environment);
  std::vector<char*> argv = pointers_to(words);
  std::vector<char*> variables = pointers_to(entries);
  int ends[2] = {-1, -1};
  if (command.piped && pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
  const pid_t parent = getpid();
  const StopSignalsHeldBack held_back;
  pid_ = fork();
  if (pid_ == 0) become(argv.data(), variables.data(), parent, ends[1], held_back);
  if (command.piped) close(ends[1]);
  out_ = ends[0];
  if (pid_ < 0) throw_errno("fork");
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && !has_ended()) {
    kill(pid_, SIGKILL);
    wait();
  }
  if (out_ >= 0) close(out_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      status_(other.status_),
      ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(out_, other.out_);
  std::swap(status_, other.status_);
  std::swap(ended_, other.ended_);
  return *this;
}

void ChildProcess::terminate() {
  if (!has_ended()) kill(pid_, SIGTERM);
}

bool ChildProcess::has_ended() {
  if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  return ended_;
}

int ChildProcess::wait() {
  while (!ended_) {
    if (waitpid(pid_, &status_, 0) == pid_)
      ended_ = true;
    else if (errno != EINTR)
      throw_errno("waitpid");
  }
  return status_;
}

std::optional<std::string> ChildProcess::read_line() {
  std::string line;
  for (;;) {
    char byte = 0;
    const ssize_t got = read(out_, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (byte == '\n') return line;
    line += byte;
  }
}

std::size_t ChildProcess::read_some(std::span<char> room) {
  for (;;) {
    const ssize_t got = read(out_, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
}

}  // namespace cairn
