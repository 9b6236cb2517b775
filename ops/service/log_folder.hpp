// The log files of the processes of `cairn up`, read as one log: in the order of time, and then what is added. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/id.hpp"
#include "workers/ports/log.hpp"

namespace cairn {

// The file of one process in the folder, which is made for its owner alone if it is missing. A process that takes
// another's place has the same name, so that a name has at most twice log_file_bytes_max.
std::string log_file_of(const std::string& folder, const std::string& name);

struct LogLine {
  TimeUs at_us = 0;
  std::int64_t pid = 0;
  LogLevel level = LogLevel::info;
  std::string text;  // the whole line as it was written
};

// Nothing for a line that does not begin an entry: it goes on from the one before.
std::optional<LogLine> parse_log_line(const std::string& text);

// Its text without time, process and level. REQUIRES: parse_log_line() read it, or it goes on from one.
std::string message_of(const LogLine& line);

class LogReader {
 public:
  explicit LogReader(std::string folder);
  ~LogReader();

  // Passes on all complete lines that no earlier call has, in the order of time. Memory is a line for each file.
  // The lines of a file that two others have replaced since the last call are lost. False: there is no file.
  bool read(const std::function<void(const LogLine&)>& take);

 private:
  struct Place;
  class File;
  class Source;
  std::string folder_;
  std::map<std::string, Place> places_;  // by path: how far it was read
};

}  // namespace cairn
