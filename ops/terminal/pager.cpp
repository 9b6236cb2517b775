#include "ops/terminal/pager.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <optional>
#include <spawn.h>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "ops/terminal/child_process.hpp"
#include "ops/terminal/columns.hpp"
#include "ops/terminal/line.hpp"
#include "workers/ports/own_process.hpp"

namespace cairn {
namespace {

constexpr std::size_t held_bytes_max = 64 << 10;  // of a screen; accents take no room in it
constexpr std::size_t piece_bytes = 4 << 10;
constexpr int cannot_be_executed = 126;  // a shell's exit codes
constexpr int is_not_there = 127;
constexpr const char* less_if_it_is_there = "command -v less > /dev/null || exit 127; exec less";

struct Screen {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

// Nothing: a terminal that a pager could not use.
std::optional<Screen> screen_of_stdout() {
  const std::string kind = environment_variable("TERM");
  winsize size{};
  if (!is_terminal() || kind.empty() || kind == "dumb" || tcgetpgrp(STDOUT_FILENO) != getpgrp()) return std::nullopt;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return std::nullopt;
  return Screen{size.ws_row, size.ws_col};
}

// For a shell; "": none.
std::string pager_command() {
  const char* own = std::getenv("CAIRN_PAGER");
  const char* given = own == nullptr ? std::getenv("PAGER") : own;
  const std::string command = given == nullptr ? less_if_it_is_there : given;
  return command == "cat" ? "" : command;
}

// Rows on the screen, without what sets colours.
std::size_t rows_of(std::string_view line, std::size_t columns) {
  std::size_t width = shown_width(line);
  for (std::size_t at = line.find('\033'); at != std::string_view::npos; at = line.find('\033', at + 1))
    width -= std::min(width, std::min(line.find('m', at), line.size() - 1) + 1 - at);
  return std::max<std::size_t>((width + columns - 1) / columns, 1);
}

// As git has less: what fits is printed, colours pass, and the screen stays. Our output is UTF-8 in every locale.
std::vector<std::string> environment_of_pager() {
  std::map<std::string, std::string> more;
  if (std::getenv("LESS") == nullptr) more["LESS"] = "FRX";
  if (std::getenv("LESSCHARSET") == nullptr) more["LESSCHARSET"] = "utf-8";
  return environment_with(more);
}

// A shell with the command, which reads from `in`. It ignores the interrupts that this process ignores: a pager sets
// its own handler, and what stands between the two goes on. The error number, or 0.
int start_shell(pid_t& pid, const std::string& command, int in) {
  std::vector<std::string> words = {"sh", "-c", command, "cairn"};  // as whom the shell reports what it lacks
  std::vector<std::string> entries = environment_of_pager();
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(entries);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int fault = posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return fault;
}

// Writes to a pager that is gone are errors, and an interrupt is the pager's to handle.
class PagersSignals {
 public:
  PagersSignals() {
    sigaction(SIGPIPE, nullptr, &pipe_);
    sigaction(SIGINT, nullptr, &interrupt_);
  }
  ~PagersSignals() { give_back(); }
  PagersSignals(const PagersSignals&) = delete;
  PagersSignals& operator=(const PagersSignals&) = delete;

  void ignore() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    are_ignored_ = true;
  }
  void give_back() {
    if (!std::exchange(are_ignored_, false)) return;
    sigaction(SIGPIPE, &pipe_, nullptr);
    sigaction(SIGINT, &interrupt_, nullptr);
  }

 private:
  struct sigaction pipe_ {};
  struct sigaction interrupt_ {};
  bool are_ignored_ = false;
};

}  // namespace

// In place of the buffer of std::cout.
class Pager::Output final : public std::streambuf {
 public:
  Output(std::string command, const Screen& screen) : command_(std::move(command)), screen_(screen) {
    std::cout.flush();
    stdout_ = std::cout.rdbuf(this);
  }
  ~Output() override { finish(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

 protected:
  int_type overflow(int_type of) override {
    if (traits_type::eq_int_type(of, traits_type::eof())) return traits_type::not_eof(of);
    const char byte = traits_type::to_char_type(of);
    return xsputn(&byte, 1) == 1 ? of : traits_type::eof();
  }

  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (stage_ == Stage::left) return 0;
    if (stderr_ == nullptr) stderr_ = std::cerr.rdbuf(&said_);
    held_.append(text, static_cast<std::size_t>(size));
    if (stage_ == Stage::held && is_screen_full()) start();
    if (stage_ == Stage::paged && held_.size() >= piece_bytes) send();
    if (stage_ == Stage::printed) print_held();
    return stage_ == Stage::left || is_broken_ ? 0 : size;
  }

  int sync() override {
    if (stage_ == Stage::paged) send();
    return stage_ == Stage::left ? -1 : 0;
  }

 private:
  // held: there may be room for it; paged: it goes to the pager; left: no one reads it; printed: there is no pager.
  enum class Stage { held, paged, left, printed };

  // The last row is for the shell's next prompt.
  bool is_screen_full() {
    const std::string_view all = held_;
    for (std::size_t end = all.find('\n', counted_); end != std::string_view::npos; end = all.find('\n', counted_)) {
      rows_ += rows_of(all.substr(counted_, end - counted_), screen_.columns);
      counted_ = end + 1;
      if (rows_ >= screen_.rows) return true;
    }
    const std::string_view begun = all.substr(counted_);
    const std::size_t more = begun.empty() ? 0 : rows_of(begun, screen_.columns);
    return rows_ + more >= screen_.rows || held_.size() > held_bytes_max;
  }

  void start() {
    std::array<int, 2> ends = {-1, -1};
    stage_ = Stage::printed;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    signals_.ignore();
    const int fault = start_shell(pid_, command_, ends[0]);
    ::close(ends[0]);
    if (fault != 0) {
      ::close(ends[1]);
      return signals_.give_back();
    }
    pipe_ = ends[1];
    pipe_bytes_ = static_cast<std::size_t>(std::max(fcntl(pipe_, F_GETPIPE_SZ), 0));
    stage_ = Stage::paged;
  }

  void send() {
    std::string_view rest = held_;
    while (!rest.empty()) {
      const ssize_t written = ::write(pipe_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        held_ = std::string(rest);
        return end_pager();
      }
      const auto bytes = static_cast<std::size_t>(written);
      sent_bytes_ += bytes;
      if (may_be_unread())
        sent_ += rest.substr(0, bytes);
      else
        sent_.clear();
      rest.remove_prefix(bytes);
    }
    held_.clear();
  }

  // The pipe has room for all that was sent.
  bool may_be_unread() const { return sent_bytes_ <= pipe_bytes_; }

  // The pager has all, or wants no more. If there was none, what was sent is printed.
  void end_pager() {
    int status = 0;
    ::close(pipe_);
    signals_.ignore();  // again: a command's own handler may have come and gone
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    signals_.give_back();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    stage_ = may_be_unread() && (code == is_not_there || code == cannot_be_executed) ? Stage::printed : Stage::left;
    if (stage_ == Stage::printed) held_.insert(0, sent_);
  }

  void print_held() {
    const std::streamsize size = std::ssize(held_);
    is_broken_ = stdout_->sputn(held_.data(), size) != size || is_broken_;
    held_.clear();
  }

  void finish() {
    if (stage_ == Stage::paged) send();
    if (stage_ == Stage::paged) end_pager();
    if (stage_ != Stage::left) print_held();
    std::cout.rdbuf(stdout_);  // also forgets that no one read
    if (is_broken_) std::cout.setstate(std::ios::badbit);
    std::cout.flush();
    if (stderr_ == nullptr) return;
    std::cerr.rdbuf(stderr_);
    std::cerr << said_.str();
  }

  const std::string command_;
  const Screen screen_;
  std::streambuf* stdout_ = nullptr;
  std::streambuf* stderr_ = nullptr;
  std::stringbuf said_;  // to std::cerr, since something is held: it comes after that
  PagersSignals signals_;
  Stage stage_ = Stage::held;
  bool is_broken_ = false;   // the terminal takes no more
  std::string held_;         // neither sent nor printed
  std::size_t counted_ = 0;  // its bytes whose rows are counted
  std::size_t rows_ = 0;     // on the screen
  std::string sent_;         // all of it, while the pager may have read nothing
  std::size_t sent_bytes_ = 0;
  std::size_t pipe_bytes_ = 0;  // what the pipe has room for
  int pipe_ = -1;
  pid_t pid_ = -1;
};

Pager::Pager(bool is_wanted) {
  const std::optional<Screen> screen = is_wanted ? screen_of_stdout() : std::nullopt;
  if (!screen) return;
  std::string command = pager_command();
  if (!command.empty()) output_ = std::make_unique<Output>(std::move(command), *screen);
}

Pager::~Pager() = default;

}  // namespace cairn
