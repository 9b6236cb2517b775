// Runs of a store as an export, one after another; memory does not grow with them. Reads in short transactions.
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
  // Of what becomes of the runs in the database: they stay, or the export is their archive. REQUIRES: both outlive it.
  enum class Purpose { copy, archive };
  Exporter(Store& store, ExportWriter& writer, const std::string& by, Purpose purpose);

  // The run as far as `run` says. Refuses `corrupt` (an event, a graph or a blob is gone), `limit`; then the export has
  // no end, and nobody takes it for whole.
  Status add(const RunRow& run) { return add(std::span(&run, 1)); }
  // Of all of them the first events are read at once.
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
