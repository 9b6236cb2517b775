// Child processes: a program run with a document on its stdin and bounded time and output, and a server that lives
// until it is ended. run_process is used by the worker's serial executor, one thread at a time, and never blocks it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

struct ProcessLimits {
  std::int64_t timeout_ms = 10'000;
  std::size_t output_bytes_max = json_bytes_max;  // of stdout; of stderr only the end is kept
};

struct ProcessEnd {
  enum class Kind : std::uint8_t { exited, signalled, timed_out, flooded, not_started };
  Kind kind = Kind::not_started;
  int number = 0;  // exit status, signal, or the errno of a failed start
  std::string out;
  std::string err;  // its last few thousand bytes
};

// Starts argv[0] (found in PATH) in a process group of its own, with no descriptor of ours but the three and an
// environment without secrets; writes `input` to it. The call ends when the program exits, even if its stdout is still
// open elsewhere, or when it passes a limit (SIGKILL). In every case the rest of its group is killed and the child is
// reaped, also when the coroutine is destroyed early.
// REQUIRES: argv is not empty; nothing else reaps the children of this process.
boost::asio::awaitable<ProcessEnd> run_process(std::vector<std::string> argv, std::string input, ProcessLimits limits);

// A program that serves until it is ended. It is started as by run_process and also ends with the thread that started
// it. Blocks; for one thread at a time.
class LastingProcess {
 public:
  // Throws std::system_error if it cannot be started.
  explicit LastingProcess(std::vector<std::string> argv);
  LastingProcess(const LastingProcess&) = delete;
  LastingProcess& operator=(const LastingProcess&) = delete;
  ~LastingProcess();  // kills its group and reaps it

  // Its output up to the first line with `part`; all its output so far if none arrives in time or it ends.
  std::string hear(std::string_view part, std::int64_t timeout_ms);

 private:
  int pid_ = 0;
  int out_ = -1;
};

// CAIRN_DSN, PGPASSWORD, and CAIRN_ names that end in KEY, TOKEN, SECRET or PASSWORD.
bool is_secret_variable(std::string_view name);

}  // namespace cairn
