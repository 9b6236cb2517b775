#include "ops/audit/export_writer.hpp"

#include <algorithm>

#include "ops/audit/export_version.hpp"
#include "storage/ground/base64.hpp"
#include "storage/proof/checkpoint.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

// The next part of a payload; ends between two characters.
std::string take_part(std::string_view& rest) {
  std::size_t size = std::min(rest.size(), payload_line_bytes_max);
  const auto is_inside = [&rest](std::size_t at) { return (static_cast<unsigned char>(rest[at]) & 0xC0) == 0x80; };
  while (size > 1 && size < rest.size() && is_inside(size)) --size;
  std::string part(rest.substr(0, size));
  rest.remove_prefix(size);
  return part;
}

Json optional_id(const std::optional<RunId>& id) { return id ? Json(to_string(*id)) : Json(nullptr); }

}  // namespace

ExportWriter::ExportWriter(Sink sink, ExportForm form) : sink_(std::move(sink)), form_(form) {
  if (form == ExportForm::compressed) zstd_.emplace(sink_);
}

void ExportWriter::line(const Json& fields) {
  const std::string line = canonical(fields) + "\n";
  text(form_ == ExportForm::visible ? visible(line) : line);
}

void ExportWriter::text(std::string_view text) {
  digest_.add(text);
  zstd_ ? zstd_->write(text) : sink_(text);
}

void ExportWriter::head(const ExportHead& head) {
  database_ = head.database;
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
  counts_before_run_ = counts_;
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
  if (event.payload.size() > payload_bytes_max)
    return Error{Code::limit, "Expected the payload of event " + std::to_string(event.seq) + " of run " +
                                  to_string(run) + " to take at most " + std::to_string(payload_bytes_max) +
                                  " bytes, but it takes " + std::to_string(event.payload.size()) + "."};
  ++counts_.events;
  std::string_view rest = event.payload;
  Json fields = {{"kind", "event"},          {"run", to_string(run)},      {"shard", shard},
                 {"seq", event.seq},         {"at_us", event.at_us},       {"type", event.type},
                 {"version", event.version}, {"commit", event.commit},     {"step", event.step},
                 {"actor", event.actor},     {"payload", take_part(rest)}, {"chain_hash", hex(event.chain_hash)}};
  if (!rest.empty()) fields["more"] = true;
  line(fields);
  while (!rest.empty()) {
    fields = {{"kind", "part"}, {"run", to_string(run)}, {"seq", event.seq}, {"payload", take_part(rest)}};
    if (!rest.empty()) fields["more"] = true;
    line(fields);
  }
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

void ExportWriter::leave_out(const RunId& run, const std::string& says) {
  const std::int64_t graphs = counts_.graphs;
  counts_ = counts_before_run_;
  counts_.graphs = graphs;  // later runs may need one that was written for this one
  line({{"kind", "left_out"}, {"run", to_string(run)}, {"says", says}});
}

void ExportWriter::checkpoint(const Checkpoint& checkpoint) {
  ++counts_.checkpoints;
  Json fields = parse_stored(checkpoint_line(checkpoint, database_));
  fields["kind"] = "checkpoint";
  line(fields);
}

void ExportWriter::end() {
  line({{"kind", "end"},
        {"runs", counts_.runs},
        {"events", counts_.events},
        {"graphs", counts_.graphs},
        {"blobs", counts_.blobs},
        {"checkpoints", counts_.checkpoints},
        {"sha256", hex(digest_.hash())}});
  if (zstd_) zstd_->end();
}

}  // namespace cairn
