// Checkpoint files, outside the database: FOLDER/<database>/<process>.jsonl with a line for each checkpoint
// (checkpoint.hpp), and the public keys that may sign them, FOLDER/<fingerprint>.pub. Not thread-safe; each process
// writes a file of its own.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "storage/proof/checkpoint.hpp"

namespace cairn {

class CheckpointFiles {
 public:
  CheckpointFiles(std::string folder, std::string database);

  // Appends to the process's file; the line is on disk when this returns. Refuses `unavailable`: the line is not there
  // then, and may be appended later. (If the file cannot be cut either, its last line is incomplete and ends the file.)
  Status append(const Checkpoint& checkpoint);

  // In order; none if there is no folder.
  std::vector<std::int64_t> processes() const;
  std::string path(std::int64_t process) const;
  // The others whose checkpoints are in the folder, by identity.
  std::vector<std::string> other_databases() const;

  const std::string& folder() const { return folder_; }
  const std::string& database() const { return database_; }

 private:
  std::string folder_;
  std::string database_;
};

// Reads one process's file from its beginning. A last line without a line feed was not written completely and does not
// count.
class CheckpointReader {
 public:
  CheckpointReader(const CheckpointFiles& files, std::int64_t process);

  // The next checkpoint; nothing at the end, or at a line that is not a checkpoint: then is_broken().
  std::optional<Checkpoint> next();
  bool is_broken() const { return is_broken_; }
  std::int64_t line() const { return line_; }  // the number of the line read last

 private:
  std::string database_;
  std::ifstream file_;
  std::int64_t line_ = 0;
  bool is_broken_ = false;
};

}  // namespace cairn
