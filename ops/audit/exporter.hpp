// The exporter: writes runs of a store as an export, one after another. Memory is constant, transactions are short.
// Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ops/audit/export_writer.hpp"

namespace cairn {

class Exporter {
 public:
  // Whether the runs stay in the database or the export is their archive. REQUIRES: store and writer outlive it.
  enum class Purpose { copy, archive };
  Exporter(Store& store, ExportWriter& writer, const std::string& by, Purpose purpose);

  // Writes the run up to the head in `run`. Refuses `corrupt` (an event, a graph or a blob is gone), `limit`; then the
  // export has no end line, which marks it as incomplete.
  Status add(const RunRow& run) { return add(std::span(&run, 1)); }
  // The first events of all of them are read together.
  Status add(std::span<const RunRow> runs);
  void end() { writer_.end(); }

 private:
  Status add(const RunRow& run, std::vector<EventRow> page);
  Status add_event(const RunRow& run, Shard shard, const EventRow& event, std::set<Hash>& blobs);
  Status add_graph(const std::string& version);
  Status add_blobs_of(const RunRow& run, Shard shard, const EventRow& event, std::set<Hash>& blobs);

  Store& store_;
  ExportWriter& writer_;
  std::map<std::string, GraphRow> graphs_;  // by version
  std::set<std::string> written_;           // versions
};

}  // namespace cairn
