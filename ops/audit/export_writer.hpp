// The writer of an export file (export_format.md): writes lines in the order of the calls. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/json.hpp"
#include "ops/audit/zstd_frame.hpp"
#include "storage/digest.hpp"
#include "storage/store.hpp"

namespace cairn {

struct ExportHead {
  std::int32_t shards = 1;
  std::string database;  // its identity
  TimeUs made_at_us = 0;
  std::string by;
  bool is_archive = false;  // its runs are removed from the database
};

struct ExportCounts {
  std::int64_t runs = 0;
  std::int64_t events = 0;
  std::int64_t graphs = 0;
  std::int64_t blobs = 0;
  std::int64_t checkpoints = 0;
  friend bool operator==(const ExportCounts&, const ExportCounts&) = default;
};

// Blobs and payloads are split into lines of at most this many bytes, so that every line can be read: quoted, a payload
// may take twice as many.
inline constexpr std::size_t blob_line_bytes_max = 8u * 1024 * 1024;
inline constexpr std::size_t payload_line_bytes_max = 6u * 1024 * 1024;
// The longest payload: no event that this program accepts has more, the state that a fork begins with included.
inline constexpr std::size_t payload_bytes_max = 4 * json_bytes_max;

// `visible` is for a terminal: what it would obey is escaped within the JSON, which changes no value. The sum is over
// the lines as they are shown.
enum class ExportForm : std::uint8_t { plain, compressed, visible };

class ExportWriter {
 public:
  using Sink = std::function<void(std::string_view)>;

  ExportWriter(Sink sink, ExportForm form);

  void head(const ExportHead& head);
  void run(const RunRow& run, Shard shard);
  void graph(const GraphRow& graph);
  // Refuses `limit`: a payload above payload_bytes_max.
  Status event(const RunId& run, Shard shard, const EventRow& event);
  void blob(const RunId& run, const Hash& hash, std::string_view bytes);
  // The lines of the last run do not count: it could not be written to its end.
  void leave_out(const RunId& run, const std::string& says);
  void checkpoint(const Checkpoint& checkpoint);  // after all runs
  void end();

  const ExportCounts& counts() const { return counts_; }

 private:
  void line(const Json& fields);
  void text(std::string_view text);

  Sink sink_;
  const ExportForm form_;
  std::optional<ZstdWriter> zstd_;
  Digest digest_;
  std::string database_;
  ExportCounts counts_;
  ExportCounts counts_before_run_;
};

}  // namespace cairn
