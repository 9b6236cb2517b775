// The check of an export file against its own hashes and counts, and against signatures if keys are trusted. Reads the
// file once and needs no database. Memory is that of one run's state and of the graphs, both bounded in bytes whatever
// the file is, and with trusted keys some 60 bytes a run. Sound content is passed on to a receiver, run by run, if
// there is one. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/audit/export_reader.hpp"
#include "ops/audit/export_version.hpp"
#include "ops/audit/export_writer.hpp"
#include "ops/audit/run_audit.hpp"
#include "ops/audit/trusted_keys.hpp"
#include "storage/proof/checkpoint.hpp"

namespace cairn {

// The receiver of what was read. Each function may be empty.
struct ExportTaker {
  std::function<Status(const ExportHead&)> head;
  std::function<Status(const GraphRow&)> graph;
  std::function<void(const EventRow&)> event;
  std::function<void(const Hash& hash, std::string bytes)> blob;
  // Called after a run's events and blobs, if all of them are sound.
  std::function<Status(const RunState&, const Hash& chain_hash)> run;
  // Called in its place if they are not, or if the export says that the run is left out.
  std::function<void()> no_run;
};

// The most that one run may take of the reader's memory. One above it is a finding, and the next one is read.
struct ExportBounds {
  std::size_t state_bytes = std::size_t{128} << 20;
  std::size_t measured_every_bytes = std::size_t{16} << 20;  // of payloads: a state is measured as seldom as that
  std::size_t blobs = 1'000'000;                             // that it refers to
};

// The end of a run in an export, and the trusted key that signed it.
struct ExportedHead {
  Head head;
  std::optional<Hash> key = {};
};

class ExportAudit {
 public:
  using Found = std::function<void(const Finding&)>;

  // `upcasters`: the steps for files of older versions of the format.
  ExportAudit(const std::string& path, Found found, ExportTaker taker = {},
              ExportUpcasters upcasters = shipped_export_upcasters());

  void bound(const ExportBounds& bounds) { bounds_ = bounds; }
  // Remembers the heads of all sound runs, up to runs_max of them.
  void keep_heads() { keeps_heads_ = true; }
  // Each run's head must be covered by a checkpoint of one of these keys: otherwise it is a finding of kind `unsigned`.
  // REQUIRES: they outlive this.
  void trust(TrustedKeys* keys) {
    keys_ = keys;
    keeps_heads_ = true;
  }
  const std::vector<ExportedHead>& heads() const { return heads_; }  // in the order of the runs

  // A fault of the file itself is a finding of kind `file` of no run, and the last one. Refuses `not_found` for a file
  // that cannot be read, and passes on a refusal of the receiver; then nothing more is read.
  Status run();

  const ExportCounts& counts() const { return counts_; }

 private:
  struct Fault {
    std::string says;
  };
  struct Run {
    Run(const RunId& id, Shard shard, const Graphs& graphs) : audit(id, shard, graphs) {}
    RunAudit audit;
    std::int64_t head = 0;
    Hash chain_hash{};
    std::set<Hash> missing;  // blobs referred to and not yet read
    std::set<Hash> blobs;    // all that were referred to
    std::vector<Finding> blob_faults;
    std::size_t unmeasured = 0;  // bytes of payloads since the state was measured
    std::string excess;          // a sentence: the run is above a bound and is not looked at any more
  };

  Status read_all();
  void lift(Json& line);
  Status read(const Json& line);
  Status read_head(const Json& line);
  Status read_graph(const Json& line);
  Status read_run(const Json& line);
  void read_event(const Json& line);
  void read_part(const Json& line);
  void add_event();
  void measure_state();
  void give_up_run(const std::string& says);
  void read_left_out(const Json& line);
  Status read_checkpoint(const Json& line);
  void cover(const Head& head, const Hash& key);
  void find_uncovered();
  void find(const Finding& finding);
  bool is_sorted() const { return by_run_.size() == heads_.size(); }
  void read_blob(const Json& line);
  void read_end(const Json& line);
  Status close_run();
  void note_blobs(const EventRow& row);
  void expect_of_run(const Json& line) const;

  ExportReader reader_;
  Found found_;
  ExportTaker taker_;
  ExportUpcasters upcasters_;
  ExportBounds bounds_;
  std::int64_t version_ = export_version;  // of the file
  std::optional<ExportHead> head_;
  Graphs graphs_;
  std::unique_ptr<Run> run_;
  RunId run_id_;
  std::string blob_part_;
  std::optional<EventRow> event_;  // whose payload is not complete yet
  ExportCounts counts_;
  ExportCounts counts_before_run_;
  std::size_t graph_bytes_ = 0;
  std::int64_t findings_ = 0;
  TrustedKeys* keys_ = nullptr;
  bool keeps_heads_ = false;
  std::vector<ExportedHead> heads_;
  std::vector<std::uint32_t> by_run_;  // places in heads_, once all runs were read
  bool has_ended_ = false;
};

}  // namespace cairn
