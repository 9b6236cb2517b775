// The exporter: writes runs of a store as an export, one after another, and the signed checkpoints over their heads.
// Memory is 16 bytes a run, transactions are short. Not thread-safe.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ops/audit/export_writer.hpp"
#include "storage/proof/checkpoint_table.hpp"

namespace cairn {

class Exporter {
 public:
  // Whether the runs stay in the database or the export is their archive. REQUIRES: store and writer outlive it.
  enum class Purpose { copy, archive };
  Exporter(Store& store, ExportWriter& writer, const std::string& by, Purpose purpose);

  // A run that cannot be exported, and why, in a sentence: the file says that it is left out, and goes on.
  using LeftOut = std::function<void(const RunId& run, const std::string& says)>;

  // Writes the runs up to the heads in `runs`; their first events are read together. A run is left out if an event, a
  // graph or a blob of it is gone or cannot be read, or if a payload is too long.
  void add(std::span<const RunRow> runs, const LeftOut& left_out);
  // `checkpoints`: where those over the heads are; null: none are written.
  void end(CheckpointTable* checkpoints);

 private:
  using HeadMark = std::array<std::uint8_t, 16>;  // the first bytes of a chain hash

  void add(const RunRow& run, std::vector<EventRow> page, const LeftOut& left_out);
  Status add_history(const RunRow& run, std::vector<EventRow> page);
  void add_checkpoints(CheckpointTable& table);
  bool covers_another(const Checkpoint& checkpoint);
  Status add_event(const RunRow& run, Shard shard, const EventRow& event, std::set<Hash>& blobs);
  Status add_graph(const std::string& version);
  Status add_blobs_of(const RunRow& run, Shard shard, const EventRow& event, std::set<Hash>& blobs);

  Store& store_;
  ExportWriter& writer_;
  std::map<std::string, GraphRow> graphs_;  // by version
  std::set<std::string> written_;           // versions
  std::vector<HeadMark> heads_;             // of the runs that were written
  std::vector<bool> covered_;               // those of them over which a checkpoint was written
  std::size_t uncovered_ = 0;
  TimeUs oldest_head_us_ = never_us;
};

}  // namespace cairn
