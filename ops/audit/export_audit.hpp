// The check of an export file against its own hashes and counts. Reads the file once and needs no database; memory is
// that of one run's state. Sound content is passed on to a receiver, run by run, if there is one. Not thread-safe.
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

namespace cairn {

// The receiver of what was read. Each function may be empty.
struct ExportTaker {
  std::function<Status(const ExportHead&)> head;
  std::function<Status(const GraphRow&)> graph;
  std::function<void(const EventRow&)> event;
  std::function<void(const Hash& hash, std::string bytes)> blob;
  // Called after a run's events and blobs, if all of them are sound.
  std::function<Status(const RunState&, const Hash& chain_hash)> run;
};

class ExportAudit {
 public:
  using Found = std::function<void(const Finding&)>;

  // `upcasters`: the steps for files of older versions of the format.
  ExportAudit(const std::string& path, Found found, ExportTaker taker = {},
              ExportUpcasters upcasters = shipped_export_upcasters());

  // A fault of the file itself is a finding of kind `file`, and the last one. Refuses `not_found` for a file that
  // cannot be read, and passes on a refusal of the receiver; then nothing more is read.
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
  };

  Status read_all();
  void lift(Json& line);
  Status read(const Json& line);
  Status read_head(const Json& line);
  Status read_graph(const Json& line);
  Status read_run(const Json& line);
  void read_event(const Json& line);
  void read_blob(const Json& line);
  void read_end(const Json& line);
  Status close_run();
  void note_blobs(const EventRow& row);
  void expect_of_run(const Json& line) const;

  ExportReader reader_;
  Found found_;
  ExportTaker taker_;
  ExportUpcasters upcasters_;
  std::int64_t version_ = export_version;  // of the file
  std::optional<ExportHead> head_;
  Graphs graphs_;
  std::unique_ptr<Run> run_;
  RunId run_id_;
  std::string blob_part_;
  ExportCounts counts_;
  bool has_ended_ = false;
};

}  // namespace cairn
