// Child processes: a program run with a document on its stdin and bounded time, resources and output, and a server that
// lives until it is ended. Each has a keeper (tool_keeper.cpp) between it and this process, which ends all that it
// started, whatever session or group that is in: when it exits, when it is stopped, and when this process is gone, also
// by SIGKILL. Used by any part that runs a program of its own or of others. run_process is used by the worker's serial
// executor, one thread at a time, and never blocks it; the rest is safe from any thread.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// The bounds of a run of a program. Those of the kernel hold for each process that it starts, one by one.
struct ProcessLimits {
  std::int64_t timeout_ms = 10'000;
  std::size_t output_bytes_max = json_bytes_max;  // of stdout; of stderr only the end is kept
  std::int64_t cpu_seconds = 600;
  std::int64_t memory_bytes = 4LL << 30;  // what it may write to privately; address space that it sets aside is free
  std::int64_t file_bytes = 4LL << 30;    // the longest file that it may write
  std::int64_t open_files = 0;            // 0: as many as this process was started with
  std::int64_t processes = 0;  // of its user, all programs together; 0: as this process; root has no such bound
};

struct ProcessUser {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  std::string home;
};

// The part of the world that a program gets: variables of this process by their names, and a user.
struct ProcessSetting {
  std::vector<std::string> environment;  // besides PATH, HOME, LANG, LC_*, TZ, TMPDIR
  std::optional<ProcessUser> user;       // none: this process's own
  std::vector<std::string> variables;    // more of them, as NAME=VALUE
};

// Refuses `invalid`: no such user, or this process is not root, which alone may become another user.
Result<ProcessUser> find_user(const std::string& name);

struct ProcessEnd {
  enum class Kind : std::uint8_t { exited, signalled, timed_out, flooded, not_started };
  Kind kind = Kind::not_started;
  int number = 0;  // exit status, signal, or the errno of the program's failed start
  std::string out;
  std::string err;  // its last few thousand bytes, in whole lines
};

// Starts argv[0] (found in PATH) in a process group of its own, with no descriptor of ours but the three; writes
// `input` to it. The call ends when the program has exited and nothing is left of what it started, or when it passes a
// limit (SIGKILL). It is ended in the same way when the coroutine is destroyed early. It may not gain rights
// (no_new_privs). REQUIRES: argv is not empty; nothing else reaps the children of this process. Throws
// std::system_error if this process cannot make what it needs for that: see is_shortage().
boost::asio::awaitable<ProcessEnd> run_process(std::vector<std::string> argv, std::string input, ProcessLimits limits,
                                               ProcessSetting setting = {});

// A program that serves until it is ended, also with this process. Blocks; for one thread at a time.
class LastingProcess {
 public:
  // `from` and `to` are the program's descriptors 3 and 4, and its stdout and stderr go into the file `log`. Throws
  // std::system_error if it cannot be started.
  LastingProcess(std::vector<std::string> argv, int from, int to, const std::string& log);
  // `streams` are its stdin, stdout and stderr, and stay the caller's. It runs under the limits of the kernel in
  // `limits`, and in that setting. Throws as above; a program that cannot be found closes its streams at once.
  LastingProcess(std::vector<std::string> argv, const std::array<int, 3>& streams, const ProcessLimits& limits,
                 const ProcessSetting& setting);
  LastingProcess(const LastingProcess&) = delete;
  LastingProcess& operator=(const LastingProcess&) = delete;
  ~LastingProcess();  // ends it and all that it started

 private:
  int pid_ = 0;
  int line_ = -1;
};

}  // namespace cairn
