#include "ops/audit/importer.hpp"

#include <utility>

#include "workers/session/projection.hpp"

namespace cairn {

Result<ImportReport> Importer::import(const std::string& file) {
  if (Status sound = check(file); !sound) return sound.error();
  if (Status written = write(file); !written) return written.error();
  return report_;
}

Status Importer::check(const std::string& file) {
  std::int64_t count = 0;
  std::string first;
  const auto found = [&](const Finding& finding) {
    if (++count > 1) return;
    first = finding.says + (finding.run.is_nil() ? "" : " (run " + to_string(finding.run) + ")");
  };
  ExportTaker taker;
  taker.head = [this](const ExportHead& head) { return check_head(head); };
  taker.run = [this](const RunState& state, const Hash& chain_hash) { return check_run(state, chain_hash); };
  if (Status read = ExportAudit(file, found, std::move(taker)).run(); !read) return read;
  if (count == 0) return Done{};
  return Error{Code::corrupt, first + (count > 1 ? " That is one of " + std::to_string(count) + " findings." : "")};
}

Status Importer::check_head(const ExportHead& head) const {
  if (head.shards == store_.shards()) return Done{};
  return Error{Code::conflict, "Expected an export from a database with " + std::to_string(store_.shards()) +
                                   " shards as here, but it has " + std::to_string(head.shards) +
                                   "; the shard is part of what is hashed."};
}

// A run that was continued here after its export is still the same run.
Status Importer::check_run(const RunState& state, const Hash& chain_hash) {
  const std::string it = "run " + to_string(state.id);
  if (!store_.run(state.id)) {
    if (running_ || is_ended(state.status)) return Done{};
    return Error{Code::invalid, "Expected runs that have ended, but " + it +
                                    " has not and would go on in both places; " + "--running takes it all the same."};
  }
  const std::vector<EventRow> here = store_.events(state.id, state.seq - 1, 1);
  if (!here.empty() && here.front().chain_hash == chain_hash) return Done{};
  return Error{Code::conflict, "Expected " + it + " to be the one that is here already, but its history is another."};
}

Status Importer::write(const std::string& file) {
  ExportTaker taker;
  taker.graph = [this](const GraphRow& graph) {
    store_.put_graph(graph);
    return Status(Done{});
  };
  taker.event = [this](const EventRow& event) { events_.push_back(event); };
  taker.blob = [this](const Hash& hash, std::string bytes) { blobs_.emplace(hash, std::move(bytes)); };
  taker.run = [this](const RunState& state, const Hash& chain_hash) { return write_run(state, chain_hash); };
  return ExportAudit(
             file, [](const Finding&) {}, std::move(taker))
      .run();
}

Status Importer::write_run(const RunState& state, const Hash& chain_hash) {
  const std::vector<EventRow> events = std::exchange(events_, {});
  const std::map<Hash, std::string> blobs = std::exchange(blobs_, {});
  const Projection rows = projection_of(state, chain_hash);
  if (store_.run(state.id) || !records_.add({rows.run, rows.jobs, {}, rows.questions, {}}, events, blobs)) {
    ++report_.left;
    return Done{};
  }
  heads_.note({state.id, state.seq, chain_hash});
  ++report_.imported;
  report_.events += static_cast<std::int64_t>(events.size());
  return Done{};
}

}  // namespace cairn
