// A folder of this user's own for what can be made again, one file for each source: histories of repositories, vectors
// of passages. A folder or file that another user could have written counts as absent. The caller checks what a file
// holds. Blocks; safe from any thread and with other processes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

class KeptFolder {
 public:
  // `directory`: made (0700) when something is first kept there; "": nothing is. Its files of this ending together have
  // at most `bytes_max`: those that were used longest ago go.
  KeptFolder(std::string directory, std::string ending, std::size_t bytes_max);

  bool is_there() const { return !directory_.empty(); }
  // Nothing for a file of more than `bytes_max` bytes.
  std::optional<std::string> read(const std::string& source, std::size_t bytes_max) const;
  // Replaces the file (0600) at once or not at all. A fault is no refusal: it is made again next time.
  void write(const std::string& source, std::string_view bytes) const;

  std::string file_of(const std::string& source) const;

 private:
  void make_room(std::size_t bytes) const;

  std::string directory_;
  std::string ending_;
  std::size_t bytes_max_;
};

}  // namespace cairn
