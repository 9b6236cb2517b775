#include "workers/ports/tool_process.hpp"

#include <array>
#include <boost/asio.hpp>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "engine/result.hpp"

namespace cairn {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t err_bytes_kept = 8 * 1024;
constexpr std::size_t chunk_bytes = 16 * 1024;
constexpr int drained_chunks_max = 64;  // no pipe holds more than a MiB
constexpr int reap_ms_max = 1'000;      // for a killed child, when its waiter is gone

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

// Above 2, so that giving it to a child as 0, 1 or 2 never overwrites another one.
Descriptor above_stdio(Descriptor descriptor) {
  if (descriptor.get() > STDERR_FILENO) return descriptor;
  Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (moved.get() < 0) fail("duplicating a pipe");
  return moved;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("making a pipe");
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
    from = above_stdio(std::move(from));
    to = above_stdio(std::move(to));
  }
  Descriptor from;
  Descriptor to;
};

// The attributes for posix_spawnp: three descriptors and no other, own group, signals as a fresh program expects them.
class SpawnPlan {
 public:
  SpawnPlan(int in, int out, int err) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
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
    const std::vector<char*> arguments = pointers(argv);
    const std::vector<char*> variables = pointers(environment);
    return ::posix_spawnp(&pid, arguments[0], &actions_, &attributes_, arguments.data(), variables.data());
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<std::string> environment_without_secrets() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!is_secret_variable(text.substr(0, text.find('=')))) kept.emplace_back(text);
  }
  return kept;
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
        exit_(executor),
        input_(std::move(input)),
        limits_(limits) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!runs()) return;
    kill_group();
    pollfd gone{exit_.is_open() ? exit_.native_handle() : -1, POLLIN, 0};
    ::poll(&gone, 1, exit_.is_open() ? reap_ms_max : 0);
    reap(exit_.is_open() ? WNOHANG : 0);
  }

  // False: it could not be started, and `end` says why.
  bool start(std::vector<std::string> argv) {
    Pipe in;
    Pipe out;
    Pipe err;
    std::vector<std::string> environment = environment_without_secrets();
    SpawnPlan plan(in.from.get(), out.to.get(), err.to.get());
    const int error = plan.start(pid_, argv, environment);
    if (error != 0) {
      pid_ = 0;
      end.number = error;
      return false;
    }
    Descriptor exit(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));  // glibc 2.36 declares it for C only
    if (exit.get() < 0) fail("watching a child");
    exit_.assign(exit.release());
    in_.assign(in.to.release());
    out_.assign(out.from.release());
    err_.assign(err.from.release());
    for (auto* stream : {&in_, &out_, &err_}) stream->non_blocking(true);
    feed();
    listen(out_, out_chunk_);
    listen(err_, err_chunk_);
    await_exit();
    return true;
  }

  // Kills it if its end is not known yet. It is reaped when it is gone, without a wait.
  void stop(ProcessEnd::Kind kind) {
    if (!runs() || stopped_) return;
    stopped_ = true;
    end.kind = kind;
    kill_group();
    for (auto* stream : {&in_, &out_, &err_}) close(*stream);
    ended.cancel();
  }

  asio::steady_timer ended;  // cancelled when there is nothing to wait for any more
  ProcessEnd end;

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
      end.err += text;
      if (end.err.size() > 2 * err_bytes_kept) end.err.erase(0, end.err.size() - err_bytes_kept);
      return true;
    }
    end.out += text;
    if (end.out.size() <= limits_.output_bytes_max) return true;
    stop(ProcessEnd::Kind::flooded);
    return false;
  }

  void await_exit() {
    exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
      if (!error) self->take_exit();
    });
  }

  // The child is gone: what it wrote is in the pipes; what others may still write is not waited for. A wake-up
  // alone is no proof that it is.
  void take_exit() {
    if (!has_exited()) return await_exit();
    drain(out_, out_chunk_);
    drain(err_, err_chunk_);
    kill_group();
    const int status = reap(0);
    close(exit_);
    if (stopped_) return;
    end.kind = WIFEXITED(status) ? ProcessEnd::Kind::exited : ProcessEnd::Kind::signalled;
    end.number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    for (auto* stream : {&in_, &out_, &err_}) close(*stream);
    ended.cancel();
  }

  void drain(asio::posix::stream_descriptor& stream, Chunk& chunk) {
    for (int i = 0; i < drained_chunks_max && stream.is_open(); ++i) {
      pollfd readable{stream.native_handle(), POLLIN, 0};
      if (::poll(&readable, 1, 0) <= 0 || !take(stream, chunk)) return;
    }
  }

  bool runs() const { return pid_ > 0; }

  bool has_exited() const {
    siginfo_t told{};
    const int asked = ::waitid(P_PID, static_cast<id_t>(pid_), &told, WEXITED | WNOHANG | WNOWAIT);
    return asked != 0 || told.si_pid != 0;
  }

  // REQUIRES: the child is not reaped; only until then is the group's number surely its own.
  void kill_group() { ::kill(-pid_, SIGKILL); }

  int reap(int options) {
    int status = 0;
    while (::waitpid(pid_, &status, options) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

  static void close(asio::posix::stream_descriptor& stream) {
    error_code ignored;  // closing a pipe end loses nothing
    if (stream.is_open()) stream.close(ignored);
  }

  pid_t pid_ = 0;  // 0: not started, or reaped
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
  asio::posix::stream_descriptor err_;
  asio::posix::stream_descriptor exit_;
  std::string input_;
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

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

bool is_secret_variable(std::string_view name) {
  if (name == "CAIRN_DSN" || name == "CAIRN_DATASET_DSN" || name == "PGPASSWORD") return true;
  if (name.substr(0, 6) != "CAIRN_") return false;
  return ends_with(name, "KEY") || ends_with(name, "TOKEN") || ends_with(name, "SECRET") || ends_with(name, "PASSWORD");
}

LastingProcess::LastingProcess(std::vector<std::string> argv) {
  CHECK(!argv.empty());
  argv.insert(argv.begin(), {"setpriv", "--pdeathsig", "KILL", "--"});
  Pipe in;
  Pipe out;
  std::vector<std::string> environment = environment_without_secrets();
  SpawnPlan plan(in.from.get(), out.to.get(), out.to.get());
  errno = plan.start(pid_, argv, environment);
  if (errno != 0) fail("starting a program");
  out_ = out.from.release();
}

LastingProcess::~LastingProcess() {
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(out_);
}

std::string LastingProcess::hear(std::string_view part, std::int64_t timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  std::string heard;
  while (heard.find(part) == std::string::npos && heard.size() < err_bytes_kept) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd readable{out_, POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) <= 0) break;
    char chunk[512];
    const ssize_t bytes = ::read(out_, chunk, sizeof chunk);
    if (bytes <= 0) break;
    heard.append(chunk, static_cast<std::size_t>(bytes));
  }
  return heard;
}

boost::asio::awaitable<ProcessEnd> run_process(std::vector<std::string> argv, std::string input, ProcessLimits limits) {
  CHECK(!argv.empty());
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto child = std::make_shared<Child>(executor, std::move(input), limits);
  child->ended.expires_after(std::chrono::milliseconds(limits.timeout_ms));
  const bool started = child->start(std::move(argv));
  if (!started) co_return std::move(child->end);
  const StopAtExit stop_at_exit(*child);
  error_code cancelled;
  co_await child->ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  child->stop(ProcessEnd::Kind::timed_out);
  co_return std::move(child->end);
}

}  // namespace cairn
