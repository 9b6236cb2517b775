#include "workers/ports/tool_process.hpp"

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <grp.h>
#include <memory>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "engine/result.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/tool_keeper.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t err_bytes_kept = 8 * 1024;
constexpr std::size_t chunk_bytes = 16 * 1024;
constexpr int drained_chunks_max = 64;   // no pipe holds more than a MiB
constexpr int destroyed_ms_max = 1'000;  // for the end of a child whose waiter is gone
constexpr int stopped_ms_max = 7'000;    // for the end of what was stopped; its keeper says so after five seconds
constexpr int own_descriptors_from = 8;  // above all that a program may get

[[noreturn]] void fail(const char* doing) { throw std::system_error(errno, std::generic_category(), doing); }

// A descriptor that is closed unless it was taken.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Above those that a program gets, so that giving it one never overwrites another.
Descriptor above(Descriptor descriptor) {
  if (descriptor.get() >= own_descriptors_from) return descriptor;
  Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, own_descriptors_from));
  if (moved.get() >= 0) return moved;
  if (errno == EINVAL) errno = EMFILE;  // this process may not have so many
  fail("duplicating a descriptor");
}

// A copy of it there; what was given stays the caller's.
Descriptor copy_above(int descriptor) {
  Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, own_descriptors_from));
  if (copy.get() < 0) fail("duplicating a descriptor");
  return copy;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("making a pipe");
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
    from = above(std::move(from));
    to = above(std::move(to));
  }
  Descriptor from;
  Descriptor to;
};

// The line to a keeper.
struct Line {
  Line() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("making a line to a keeper");
    ours = Descriptor(ends[0]);
    its = Descriptor(ends[1]);
    its = above(std::move(its));
  }
  Descriptor ours;
  Descriptor its;
};

// The keeper's program, as a file in memory.
Descriptor keeper_file() {
  const std::string_view program = keeper_program();
  Descriptor file(::memfd_create("cairn-keeper", MFD_CLOEXEC));
  if (file.get() < 0) fail("making a file in memory");
  for (std::size_t at = 0; at < program.size();) {
    const ssize_t written = ::write(file.get(), program.data() + at, program.size() - at);
    if (written <= 0) fail("writing a file in memory");
    at += static_cast<std::size_t>(written);
  }
  // A file that is open for writing cannot be run.
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  Descriptor readable(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (readable.get() < 0) fail("opening a file in memory");
  return above(std::move(readable));
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

bool is_allowed_variable(std::string_view name, const std::vector<std::string>& more) {
  static constexpr std::array<std::string_view, 5> allowed = {"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
  return name.starts_with("LC_") || std::find(allowed.begin(), allowed.end(), name) != allowed.end() ||
         std::find(more.begin(), more.end(), name) != more.end();
}

std::vector<std::string> environment_of(const ProcessSetting& setting) {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    if (setting.user && name == "HOME") continue;
    if (is_allowed_variable(name, setting.environment)) kept.emplace_back(text);
  }
  if (setting.user) kept.push_back("HOME=" + setting.user->home);
  kept.insert(kept.end(), setting.variables.begin(), setting.variables.end());
  return kept;
}

// The arguments of tool_keeper.cpp.
std::vector<std::string> keeper_arguments(std::size_t descriptors, const std::vector<std::string>& argv,
                                          const ProcessLimits& limits, const ProcessSetting& setting) {
  const auto bound = [](std::int64_t limit) { return limit > 0 ? std::to_string(limit) : std::string("-"); };
  const std::int64_t files = limits.open_files > 0 ? limits.open_files : open_files_at_start();
  std::vector<std::string> all = {"cairn-keeper",
                                  std::to_string(descriptors),
                                  bound(limits.cpu_seconds),
                                  bound(limits.memory_bytes),
                                  bound(files),
                                  bound(limits.file_bytes),
                                  bound(limits.processes),
                                  "-",
                                  "-",
                                  "-"};
  if (setting.user) {
    all[7] = std::to_string(setting.user->uid);
    all[8] = std::to_string(setting.user->gid);
    std::string groups;
    for (const std::uint32_t group : setting.user->groups)
      groups += (groups.empty() ? "" : ",") + std::to_string(group);
    if (!groups.empty()) all[9] = groups;
  }
  all.insert(all.end(), argv.begin(), argv.end());
  return all;
}

// The attributes of a keeper's start: the program's descriptors and its line and no other, a group of its own, signals
// as a fresh program expects them.
class SpawnPlan {
 public:
  explicit SpawnPlan(const std::vector<int>& descriptors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    for (std::size_t at = 0; at < descriptors.size(); ++at)
      ::posix_spawn_file_actions_adddup2(&actions_, descriptors[at], static_cast<int>(at));
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // 0 or the error number.
  int start(pid_t& pid, std::vector<std::string>& argv, std::vector<std::string>& environment) {
    static const Descriptor keeper = keeper_file();  // until the process ends
    const std::string path = "/proc/self/fd/" + std::to_string(keeper.get());
    const std::vector<char*> arguments = pointers_to(argv);
    const std::vector<char*> variables = pointers_to(environment);
    return ::posix_spawn(&pid, path.c_str(), &actions_, &attributes_, arguments.data(), variables.data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Asks the keeper to end all; a program that stopped it with a signal does not keep it from that.
void ask_to_end(int line, pid_t keeper) {
  ::shutdown(line, SHUT_WR);
  ::kill(keeper, SIGCONT);
}

int reap(pid_t pid, int options) {
  int status = 0;
  while (::waitpid(pid, &status, options) < 0 && errno == EINTR) {
  }
  return status;
}

// write() that reports a closed pipe as EPIPE and leaves no SIGPIPE pending, whatever the process does with it.
ssize_t write_without_signal(int descriptor, std::string_view bytes) {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_pending) {
    const timespec at_once{};
    while (::sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

// A running child. Shared by the coroutine that waits for it and the operations on its descriptors.
class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(const asio::any_io_executor& executor, std::string input, const ProcessLimits& limits)
      : ended(executor),
        in_(executor),
        out_(executor),
        err_(executor),
        line_(executor),
        input_(std::move(input)),
        limits_(limits) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!runs()) return;
    ask_to_end(line_.native_handle(), pid_);
    pollfd gone{line_.native_handle(), POLLIN, 0};
    const bool is_gone = ::poll(&gone, 1, destroyed_ms_max) > 0;
    reap(pid_, is_gone ? 0 : WNOHANG);
  }

  // Throws std::system_error if it cannot be started.
  void start(const std::vector<std::string>& argv, const ProcessSetting& setting) {
    Pipe in;
    Pipe out;
    Pipe err;
    Line line;
    std::vector<std::string> environment = environment_of(setting);
    std::vector<std::string> arguments = keeper_arguments(3, argv, limits_, setting);
    SpawnPlan plan({in.from.get(), out.to.get(), err.to.get(), line.its.get()});
    errno = plan.start(pid_, arguments, environment);
    if (errno != 0) {
      pid_ = 0;
      fail("starting a keeper");
    }
    line_.assign(line.ours.release());
    in_.assign(in.to.release());
    out_.assign(out.from.release());
    err_.assign(err.from.release());
    for (auto* stream : {&in_, &out_, &err_}) stream->non_blocking(true);
    feed();
    listen(out_, out_chunk_);
    listen(err_, err_chunk_);
    await_report();
  }

  // Ends it if its end is not known yet; `ended` then has new time, for the keeper's report.
  void stop(ProcessEnd::Kind kind) {
    if (!runs() || stopped_) return;
    stopped_ = true;
    end.kind = kind;
    ask_to_end(line_.native_handle(), pid_);
    for (auto* stream : {&in_, &out_, &err_}) close(*stream);
    ended.expires_after(std::chrono::milliseconds(stopped_ms_max));
  }

  bool runs() const { return pid_ > 0; }
  bool is_stopped() const { return stopped_; }

  asio::steady_timer ended;  // cancelled when there is nothing to wait for any more
  ProcessEnd end;
  int lacking = 0;  // the errno of its keeper, which could not start it

 private:
  using Chunk = std::array<char, chunk_bytes>;

  void feed() {
    const std::string_view left = std::string_view(input_).substr(fed_);
    const ssize_t written = left.empty() ? 0 : write_without_signal(in_.native_handle(), left);
    const bool would_block = written < 0 && (errno == EAGAIN || errno == EINTR);
    if (written > 0) fed_ += static_cast<std::size_t>(written);
    if (fed_ == input_.size() || (written < 0 && !would_block)) {  // all is written, or it reads no more
      close(in_);
      return;
    }
    in_.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](const error_code& error) {
      if (!error) self->feed();
    });
  }

  void listen(asio::posix::stream_descriptor& stream, Chunk& chunk) {
    stream.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this(), &stream, &chunk](const error_code& error) {
                        if (!error && self->take(stream, chunk)) self->listen(stream, chunk);
                      });
  }

  // Reads one chunk; false at the end of the stream or of the child.
  bool take(asio::posix::stream_descriptor& stream, Chunk& chunk) {
    if (!stream.is_open()) return false;
    const ssize_t bytes = ::read(stream.native_handle(), chunk.data(), chunk.size());
    if (bytes < 0) return errno == EAGAIN || errno == EINTR;
    if (bytes == 0) {
      close(stream);
      return false;
    }
    const std::string_view text(chunk.data(), static_cast<std::size_t>(bytes));
    if (&stream == &err_) {
      err_lines_.add(text);
      return true;
    }
    end.out += text;
    if (end.out.size() <= limits_.output_bytes_max) return true;
    stop(ProcessEnd::Kind::flooded);
    return false;
  }

  void await_report() {
    line_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
      if (!error) self->take_report();
    });
  }

  // Nothing of the program is left: what it wrote is in the pipes. A keeper that was killed reports nothing.
  void take_report() {
    KeeperReport report{KeeperReport::signalled, SIGKILL};
    const ssize_t bytes = ::recv(line_.native_handle(), &report, sizeof report, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return await_report();
    drain(out_, out_chunk_);
    drain(err_, err_chunk_);
    reap(std::exchange(pid_, 0), 0);
    close(line_);
    for (auto* stream : {&in_, &out_, &err_}) close(*stream);
    end.err = err_lines_.text();
    if (!stopped_) {
      if (report.kind == KeeperReport::lacking) lacking = report.number;
      end.kind = report.kind == KeeperReport::exited        ? ProcessEnd::Kind::exited
                 : report.kind == KeeperReport::not_started ? ProcessEnd::Kind::not_started
                                                            : ProcessEnd::Kind::signalled;
      end.number = report.number;
    }
    ended.cancel();
  }

  void drain(asio::posix::stream_descriptor& stream, Chunk& chunk) {
    for (int i = 0; i < drained_chunks_max && stream.is_open(); ++i) {
      pollfd readable{stream.native_handle(), POLLIN, 0};
      if (::poll(&readable, 1, 0) <= 0 || !take(stream, chunk)) return;
    }
  }

  static void close(asio::posix::stream_descriptor& stream) {
    error_code ignored;  // closing a pipe end loses nothing
    if (stream.is_open()) stream.close(ignored);
  }

  pid_t pid_ = 0;  // the keeper's; 0: not started, or reaped
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
  asio::posix::stream_descriptor err_;
  asio::posix::stream_descriptor line_;
  std::string input_;
  LastLines err_lines_{err_bytes_kept};
  std::size_t fed_ = 0;
  bool stopped_ = false;
  ProcessLimits limits_;
  Chunk out_chunk_;
  Chunk err_chunk_;
};

// The child ends with the coroutine, however that ends.
class StopAtExit {
 public:
  explicit StopAtExit(Child& child) : child_(child) {}
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;
  ~StopAtExit() { child_.stop(ProcessEnd::Kind::timed_out); }

 private:
  Child& child_;
};

}  // namespace

Result<ProcessUser> find_user(const std::string& name) {
  std::array<char, 16 * 1024> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return Error{Code::invalid, "Expected a user of this machine, but there is no " + name + "."};
  if (::geteuid() != 0)
    return Error{Code::invalid, "Expected to run a program as user " + name +
                                    ", but this process is not root, which alone may become another user."};
  std::vector<std::uint32_t> groups(256);
  auto count = static_cast<int>(groups.size());
  if (::getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) < 0)
    return Error{Code::invalid, "Expected user " + name + " to be in at most 256 groups, but it is in more."};
  groups.resize(static_cast<std::size_t>(count));
  return ProcessUser{entry.pw_uid, entry.pw_gid, std::move(groups), entry.pw_dir};
}

LastingProcess::LastingProcess(std::vector<std::string> argv, int from, int to, const std::string& log) {
  CHECK(!argv.empty());
  Line line;
  const Descriptor nothing = above(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const Descriptor said = above(Descriptor(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)));
  const Descriptor read_by_it = copy_above(from);
  const Descriptor written_by_it = copy_above(to);
  ProcessLimits limits;
  limits.cpu_seconds = 0;
  std::vector<std::string> environment = environment_of({});
  std::vector<std::string> arguments = keeper_arguments(5, argv, limits, {});
  SpawnPlan plan({nothing.get(), said.get(), said.get(), read_by_it.get(), written_by_it.get(), line.its.get()});
  errno = plan.start(pid_, arguments, environment);
  if (errno != 0) fail("starting a program");
  line_ = line.ours.release();
}

LastingProcess::LastingProcess(std::vector<std::string> argv, const std::array<int, 3>& streams,
                               const ProcessLimits& limits, const ProcessSetting& setting) {
  CHECK(!argv.empty());
  Line line;
  const std::array<Descriptor, 3> its = {copy_above(streams[0]), copy_above(streams[1]), copy_above(streams[2])};
  std::vector<std::string> environment = environment_of(setting);
  std::vector<std::string> arguments = keeper_arguments(3, argv, limits, setting);
  SpawnPlan plan({its[0].get(), its[1].get(), its[2].get(), line.its.get()});
  errno = plan.start(pid_, arguments, environment);
  if (errno != 0) fail("starting a program");
  line_ = line.ours.release();
}

LastingProcess::~LastingProcess() {
  ask_to_end(line_, pid_);
  pollfd gone{line_, POLLIN, 0};
  const bool is_gone = ::poll(&gone, 1, stopped_ms_max) > 0;
  reap(pid_, is_gone ? 0 : WNOHANG);
  ::close(line_);
}

boost::asio::awaitable<ProcessEnd> run_process(std::vector<std::string> argv, std::string input, ProcessLimits limits,
                                               ProcessSetting setting) {
  CHECK(!argv.empty());
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto child = std::make_shared<Child>(executor, std::move(input), limits);
  child->ended.expires_after(std::chrono::milliseconds(limits.timeout_ms));
  child->start(argv, setting);
  const StopAtExit stop_at_exit(*child);
  while (child->runs()) {
    const bool was_stopped = child->is_stopped();
    error_code cancelled;
    co_await child->ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    if (!cancelled && was_stopped) break;  // it does not end although it is killed
    if (!cancelled) child->stop(ProcessEnd::Kind::timed_out);
  }
  errno = child->lacking;
  if (errno != 0) fail("starting a program");
  co_return std::move(child->end);
}

}  // namespace cairn
