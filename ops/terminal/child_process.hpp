// A child process that runs this program once more and ends when its parent does. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cairn {

struct ChildCommand {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment = {};  // set in the child; it inherits all else
  bool piped = false;                                   // its stdout is a pipe to this process
};

// This process's environment with `changes`, as NAME=VALUE.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes);
// As execve takes them: ended by a null. REQUIRES: `texts` outlives the answer.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

class ChildProcess {
 public:
  // Starts the running program with these arguments. Throws std::system_error if that fails.
  explicit ChildProcess(const ChildCommand& command);
  ~ChildProcess();  // kills and reaps a child that still runs
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  void terminate();  // SIGTERM
  bool has_ended();  // reaps it without waiting
  int wait();        // the wait status
  // The next line of its stdout; nothing at its end. REQUIRES: piped.
  std::optional<std::string> read_line();
  // The next bytes of its stdout, up to the size of `room`; 0 at its end. REQUIRES: piped.
  std::size_t read_some(std::span<char> room);

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace cairn
