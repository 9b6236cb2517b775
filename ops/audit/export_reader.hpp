// The lines of an export's file, one after another, decompressed if they have to be. Not thread-safe.
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

  // The next line as an object, nothing at the end. Refuses `not_found` (no file that can be read), `invalid`, `limit`
  // (a line that is none); after that there is no more.
  Result<std::optional<Json>> next();

  std::int64_t line() const { return line_; }               // of what came last
  const Hash& hash_before() const { return hash_before_; }  // of all bytes before that line

 private:
  Status more();
  Result<std::optional<std::string>> next_line();

  std::string path_;
  std::ifstream file_;
  std::unique_ptr<ZstdReader> zstd_;
  std::string bytes_;     // read and not yet given
  std::size_t at_ = 0;    // of them are given
  bool is_over_ = false;  // nothing follows `bytes_`
  std::int64_t line_ = 0;
  Digest digest_;
  Hash hash_before_{};
};

}  // namespace cairn
