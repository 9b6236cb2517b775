// A file of log lines that is bounded in bytes: when it is full, it becomes PATH.1, in place of the one before, and a
// new one begins. For its owner alone. Several processes may write to one file; not thread-safe within one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

inline constexpr std::size_t log_file_bytes_max = std::size_t{4} << 20;

class LogFile {
 public:
  explicit LogFile(std::string path, std::size_t bytes_max = log_file_bytes_max);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends whole lines, at most `bytes_max` of them. False if they cannot be written; the next call tries again.
  bool write(std::string_view lines);

 private:
  bool open();
  void rotate_if_full(std::size_t bytes);

  const std::string path_;
  const std::size_t bytes_max_;
  int handle_ = -1;
};

}  // namespace cairn
