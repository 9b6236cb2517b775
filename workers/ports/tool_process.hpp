// Runs a program: a document on its stdin, what it says on stdout and stderr, how it ended.
// Used in the worker's turns, by one thread at a time; nothing here waits in a thread.
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
  int number = 0;  // exit status, signal, or the error why it did not start
  std::string out;
  std::string err;  // its last few thousand bytes
};

// Starts argv[0] (looked up in PATH) in a process group of its own, with no descriptor of ours but the three and an
// environment without secrets; gives it `input`. The program's exit ends it, whoever still holds its stdout; passing a
// limit ends it by SIGKILL. In every case the rest of its group is killed and the child is reaped, also when the
// coroutine is destroyed early.
// REQUIRES: argv is not empty; nothing else reaps the children of this process.
boost::asio::awaitable<ProcessEnd> run_process(std::vector<std::string> argv, std::string input, ProcessLimits limits);

// A program that serves until it is ended. Started as run_process starts one; it also ends when the thread that started
// it does. Blocks; for one thread at a time.
class LastingProcess {
 public:
  // Throws std::system_error if it cannot be started.
  explicit LastingProcess(std::vector<std::string> argv);
  LastingProcess(const LastingProcess&) = delete;
  LastingProcess& operator=(const LastingProcess&) = delete;
  ~LastingProcess();  // kills its group and reaps it

  // What it says until a line holds `part`; all it said so far if none does in time or it ends.
  std::string hear(std::string_view part, std::int64_t timeout_ms);

 private:
  int pid_ = 0;
  int out_ = -1;
};

// CAIRN_DSN, PGPASSWORD, and CAIRN_ names that end in KEY, TOKEN, SECRET or PASSWORD.
bool is_secret_variable(std::string_view name);

}  // namespace cairn
