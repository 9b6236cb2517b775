// This program once more, as a child that ends when its parent does. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cairn {

class ChildProcess {
 public:
  // Starts the running program with these arguments; its stdout is a pipe to us if `piped`.
  // Throws std::system_error if that cannot be.
  ChildProcess(const std::vector<std::string>& arguments, bool piped);
  ~ChildProcess();  // kills and reaps what still runs
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  void terminate();  // SIGTERM
  bool has_ended();  // reaps it without waiting
  int wait();        // the wait status
  // The next line of its stdout; nothing at its end. REQUIRES: piped.
  std::optional<std::string> read_line();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace cairn
