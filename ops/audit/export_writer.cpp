#include "ops/audit/export_writer.hpp"

#include "ops/audit/export_version.hpp"
#include "storage/proof/base64.hpp"

namespace cairn {
namespace {

Json optional_id(const std::optional<RunId>& id) { return id ? Json(to_string(*id)) : Json(nullptr); }

}  // namespace

ExportWriter::ExportWriter(Sink sink, bool compressed) : sink_(std::move(sink)) {
  if (compressed) zstd_.emplace(sink_);
}

void ExportWriter::text(std::string_view text) {
  digest_.add(text);
  zstd_ ? zstd_->write(text) : sink_(text);
}

void ExportWriter::head(const ExportHead& head) {
  line({{"kind", "head"},
        {"format", "cairn-export"},
        {"version", export_version},
        {"shards", head.shards},
        {"database", head.database},
        {"made_at", time_text(head.made_at_us)},
        {"by", head.by},
        {"archive", head.is_archive}});
}

void ExportWriter::run(const RunRow& run, Shard shard) {
  ++counts_.runs;
  line({{"kind", "run"},
        {"run", to_string(run.id)},
        {"shard", shard},
        {"graph", run.graph},
        {"graph_version", run.version},
        {"status", to_string(run.status)},
        {"head", run.head},
        {"chain_hash", hex(run.chain_hash)},
        {"parent", optional_id(run.parent)},
        {"continues", optional_id(run.continues)}});
}

void ExportWriter::graph(const GraphRow& graph) {
  ++counts_.graphs;
  line({{"kind", "graph"}, {"name", graph.name}, {"version", graph.version}, {"text", graph.text}});
}

Status ExportWriter::event(const RunId& run, Shard shard, const EventRow& event) {
  const std::string made = canonical({{"kind", "event"},
                                      {"run", to_string(run)},
                                      {"shard", shard},
                                      {"seq", event.seq},
                                      {"at_us", event.at_us},
                                      {"type", event.type},
                                      {"version", event.version},
                                      {"commit", event.commit},
                                      {"step", event.step},
                                      {"actor", event.actor},
                                      {"payload", event.payload},
                                      {"chain_hash", hex(event.chain_hash)}});
  if (made.size() > json_bytes_max)
    return Error{Code::limit, "Expected event " + std::to_string(event.seq) + " of run " + to_string(run) +
                                  " to take at most " + std::to_string(json_bytes_max) + " bytes, but it takes " +
                                  std::to_string(made.size()) + "."};
  ++counts_.events;
  text(made + "\n");
  return Done{};
}

void ExportWriter::blob(const RunId& run, const Hash& hash, std::string_view bytes) {
  ++counts_.blobs;
  do {
    const std::string_view part = bytes.substr(0, blob_line_bytes_max);
    bytes.remove_prefix(part.size());
    line({{"kind", "blob"},
          {"run", to_string(run)},
          {"hash", hex(hash)},
          {"base64", base64(part)},
          {"more", !bytes.empty()}});
  } while (!bytes.empty());
}

void ExportWriter::end() {
  line({{"kind", "end"},
        {"runs", counts_.runs},
        {"events", counts_.events},
        {"graphs", counts_.graphs},
        {"blobs", counts_.blobs},
        {"sha256", hex(digest_.hash())}});
  if (zstd_) zstd_->end();
}

}  // namespace cairn
