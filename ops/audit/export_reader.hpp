// The reader of an export file: its lines in order, decompressed if necessary. Not thread-safe.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "engine/json.hpp"
#include "ops/audit/zstd_frame.hpp"
#include "storage/digest.hpp"

namespace cairn {

class ExportReader {
 public:
  explicit ExportReader(const std::string& path);

  // The next line as an object, none at the end. Refuses `not_found` (the file cannot be read), `invalid` and `limit`
  // (a line that is no object, or too long); nothing can be read after a refusal.
  Result<std::optional<Json>> next();

  std::int64_t line() const { return line_; }               // the number of the line read last
  const Hash& hash_before() const { return hash_before_; }  // of all bytes before that line

 private:
  Status more();
  Result<std::optional<std::string>> next_line();

  std::string path_;
  std::ifstream file_;
  std::unique_ptr<ZstdReader> zstd_;
  std::string bytes_;     // read from the file and not yet returned
  std::size_t at_ = 0;    // how many of them have been returned
  bool is_over_ = false;  // nothing follows `bytes_`
  std::int64_t line_ = 0;
  Digest digest_;
  Hash hash_before_{};
};

}  // namespace cairn
