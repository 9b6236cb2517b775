#include "ops/bench/rig/program_use.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "ops/bench/rig/worker_process.hpp"
#include "ops/terminal/child_process.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t sample_ms = 3;

[[noreturn]] void throw_system_error(int fault, const char* what) {
  throw std::system_error(fault, std::generic_category(), what);
}

// A process whose stdout is ours to read.
class Spawned {
 public:
  Spawned(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment) {
    std::vector<std::string> texts = {"cairn"};
    texts.insert(texts.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = environment_with(environment);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_system_error(errno, "pipe");
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int fault = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, pointers_to(texts).data(),
                                  pointers_to(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (fault == 0) return;
    close(out_);
    throw_system_error(fault, "posix_spawn");
  }
  ~Spawned() { close(out_); }
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;

  std::size_t read_some(std::vector<char>& into) {
    for (;;) {
      pollfd ready{out_, POLLIN, 0};
      const bool is_silent = poll(&ready, 1, static_cast<int>(sample_ms)) == 0;
      sample_memory();
      if (is_silent) continue;
      const ssize_t got = read(out_, into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw_system_error(errno, "read");
    }
  }

  // Sampled every few ms: the peak that the system reports at the end includes the memory of the parent process.
  double peak_memory_mb() const { return memory_mb_; }

  int wait(rusage& used) const {
    int status = 0;
    while (wait4(pid_, &status, 0, &used) < 0)
      if (errno != EINTR) throw_system_error(errno, "wait4");
    return status;
  }

 private:
  void sample_memory() {
    if (Clock::now() < next_sample_) return;
    memory_mb_ = std::max(memory_mb_, cairn::peak_memory_mb(pid_));
    next_sample_ = Clock::now() + std::chrono::milliseconds(sample_ms);
  }

  pid_t pid_ = -1;
  int out_ = -1;
  double memory_mb_ = 0;
  // By then it is another program.
  Clock::time_point next_sample_ = Clock::now() + std::chrono::milliseconds(sample_ms);
};

void read_lines(Spawned& process, ProgramUse& use) {
  std::vector<char> bytes(1 << 16);
  std::string line;
  for (std::size_t got = process.read_some(bytes); got > 0; got = process.read_some(bytes)) {
    auto at = bytes.begin();
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(got);
    for (auto newline = std::find(at, end, '\n'); newline != end; newline = std::find(at, end, '\n')) {
      ++use.lines;
      line.append(at, newline);
      use.last_line.swap(line);
      line.clear();
      at = newline + 1;
    }
    line.append(at, end);
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProgramUse use_program(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment) {
  ProgramUse use;
  rusage used{};
  const Clock::time_point begin = Clock::now();
  Spawned process(arguments, environment);
  read_lines(process, use);
  const int status = process.wait(used);
  use.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("Expected `cairn " + arguments.front() + "` to find nothing wrong, but it ended with " +
                             std::to_string(status) + ": " + use.last_line.substr(0, 1'000));
  use.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  use.peak_memory_mb = process.peak_memory_mb();
  return use;
}

}  // namespace cairn
