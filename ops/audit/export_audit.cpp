#include "ops/audit/export_audit.hpp"

#include <limits>

#include "engine/corrupt_history.hpp"
#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/proof/base64.hpp"
#include "workers/handlers/large_values.hpp"

namespace cairn {
namespace {

// Fields of a line. They throw Json::exception for one that is not there or of another type.

std::string text_of(const Json& line, const char* field) { return line.at(field).get<std::string>(); }

template <class Number>
Number number_of(const Json& line, const char* field) {
  const auto value = line.at(field).get<std::int64_t>();
  if (!line.at(field).is_number_integer() || value < std::numeric_limits<Number>::min() ||
      value > std::numeric_limits<Number>::max())
    throw std::out_of_range(std::string("its ") + field + " is none");
  return static_cast<Number>(value);
}

Hash hash_of(const Json& line, const char* field) {
  const std::optional<Hash> hash = parse_hash(text_of(line, field));
  if (!hash) throw std::out_of_range(std::string("its ") + field + " is none");
  return *hash;
}

RunId run_id_of(const Json& line) {
  const std::optional<RunId> id = parse_run_id(text_of(line, "run"));
  if (!id) throw std::out_of_range("its run is none");
  return *id;
}

EventRow event_row(const Json& line) {
  EventRow row;
  row.seq = number_of<std::int64_t>(line, "seq");
  row.at_us = number_of<std::int64_t>(line, "at_us");
  row.type = number_of<std::int16_t>(line, "type");
  row.version = number_of<std::int16_t>(line, "version");
  row.commit = number_of<std::int64_t>(line, "commit");
  row.step = number_of<std::int32_t>(line, "step");
  row.actor = text_of(line, "actor");
  row.payload = text_of(line, "payload");
  row.chain_hash = hash_of(line, "chain_hash");
  return row;
}

// The handlers and their labels as the graph alone states them; an export does not hold the catalogue of its time.
Handlers claimed_handlers(const Json& graph) {
  Handlers handlers;
  for (const Json& node : graph.at("nodes")) {
    if (!node.is_object() || !node.contains("do")) continue;
    HandlerLabels& claimed = handlers[node.at("do").get<std::string>()];
    if (node.contains("labels")) {
      claimed.declared_by_node = true;
      continue;
    }
    for (const auto& [label, next] : node.at("on").items())
      if (label != "error" && label != "exhausted") claimed.labels.insert(label);
  }
  return handlers;
}

}  // namespace

ExportAudit::ExportAudit(const std::string& path, Found found, ExportTaker taker, ExportUpcasters upcasters)
    : reader_(path), found_(std::move(found)), taker_(std::move(taker)), upcasters_(upcasters) {}

Status ExportAudit::run() {
  try {
    return read_all();
  } catch (const Fault& fault) {
    found_({{}, 0, "file", fault.says});
  }
  return Done{};
}

Status ExportAudit::read_all() {
  for (;;) {
    Result<std::optional<Json>> line = reader_.next();
    if (!line && line.error().code == Code::not_found) return line.error();
    if (!line) throw Fault{line.error().message};
    if (!*line) break;
    try {
      lift(**line);
      if (Status taken = read(**line); !taken) return taken;
    } catch (const Json::exception&) {
      throw Fault{"Expected line " + std::to_string(reader_.line()) +
                  " to have the fields of its kind, but it has not."};
    } catch (const std::out_of_range& fault) {
      throw Fault{"Expected the fields of line " + std::to_string(reader_.line()) +
                  " to be what they are called, but " + fault.what() + "."};
    }
  }
  if (!has_ended_) throw Fault{"Expected the line that ends an export, but the file ends before it."};
  return Done{};
}

// The head states the file's version. One that cannot be read is left to read_head, which reports it.
void ExportAudit::lift(Json& line) {
  if (!head_ && line.contains("version") && is_readable_export(line["version"], upcasters_))
    version_ = line["version"].get<std::int64_t>();
  lift_export_line(line, version_, upcasters_);
}

Status ExportAudit::read(const Json& line) {
  const std::string kind = text_of(line, "kind");
  const std::string it = "a line of kind \"" + kind + "\" in line " + std::to_string(reader_.line());
  if (has_ended_) throw Fault{"Expected nothing after the end, but found " + it + "."};
  if ((kind == "head") == head_.has_value()) throw Fault{"Expected the head once and first, but found " + it + "."};
  if (kind == "head") return read_head(line);
  if (kind == "graph") return read_graph(line);
  if (kind == "run") return read_run(line);
  if (kind == "event")
    read_event(line);
  else if (kind == "blob")
    read_blob(line);
  else if (kind != "end")
    throw Fault{"Expected a kind that this program knows, but found " + it + "."};
  if (kind != "end") return Done{};
  if (Status closed = close_run(); !closed) return closed;
  read_end(line);
  return Done{};
}

Status ExportAudit::read_head(const Json& line) {
  if (text_of(line, "format") != "cairn-export" || line.at("version") != export_version)
    throw Fault{"Expected an export of version " + std::to_string(export_version) + ", but found \"" +
                text_of(line, "format") + "\" of version " + excerpt(line.at("version"), 20) + "."};
  head_ = ExportHead{number_of<std::int32_t>(line, "shards"), text_of(line, "database"), 0, text_of(line, "by"),
                     line.at("archive").get<bool>()};
  if (head_->shards < 1) throw std::out_of_range("its shards are none");
  return taker_.head ? taker_.head(*head_) : Status(Done{});
}

Status ExportAudit::read_graph(const Json& line) {
  const GraphRow row{text_of(line, "name"), text_of(line, "version"), text_of(line, "text"), false};
  const std::string it = "graph " + row.name + " in line " + std::to_string(reader_.line());
  if (graph_version(row.text) != row.version)
    throw Fault{"Expected the version of " + it + " to be its text's, but it is not."};
  const Result<Json> graph = parse_json(row.text, it);
  if (!graph) throw Fault{graph.error().message};
  const Result<GraphRef> made = parse_graph(*graph, row.version, claimed_handlers(*graph));
  if (!made) throw Fault{made.error().message};
  if ((*made)->name != row.name) throw Fault{"Expected " + it + " to have that name, but it has another."};
  graphs_.add(*made, false);
  ++counts_.graphs;
  return taker_.graph ? taker_.graph(row) : Status(Done{});
}

Status ExportAudit::read_run(const Json& line) {
  if (Status closed = close_run(); !closed) return closed;
  run_id_ = run_id_of(line);
  const auto shard = number_of<Shard>(line, "shard");
  if (shard != shard_of(run_id_, head_->shards))
    throw Fault{"Expected run " + to_string(run_id_) + " on shard " + std::to_string(shard_of(run_id_, head_->shards)) +
                ", but line " + std::to_string(reader_.line()) + " says " + std::to_string(shard) + "."};
  run_ = std::make_unique<Run>(run_id_, shard, graphs_);
  run_->head = number_of<std::int64_t>(line, "head");
  run_->chain_hash = hash_of(line, "chain_hash");
  if (run_->head < 1) throw std::out_of_range("its head is none");
  ++counts_.runs;
  return Done{};
}

void ExportAudit::expect_of_run(const Json& line) const {
  if (run_ == nullptr || run_id_of(line) != run_id_)
    throw Fault{"Expected line " + std::to_string(reader_.line()) +
                " to belong to the run before it, but it does not."};
}

void ExportAudit::read_event(const Json& line) {
  expect_of_run(line);
  const EventRow row = event_row(line);
  ++counts_.events;
  run_->audit.add(row);
  if (run_->audit.state() != nullptr) note_blobs(row);
  if (taker_.event) taker_.event(row);
}

// A patch that is no JSON is found only here: folding does not parse it.
void ExportAudit::note_blobs(const EventRow& row) {
  if (row.payload.find("\"$blob\"") == std::string::npos) return;
  std::vector<Hash> named;
  try {
    find_blobs(parse_stored(row.payload), named);
  } catch (const CorruptHistory& fault) {
    run_->blob_faults.push_back({run_id_, row.seq, "unfoldable", fault.what()});
  }
  for (const Hash& hash : named)
    if (run_->blobs.insert(hash).second) run_->missing.insert(hash);
}

void ExportAudit::read_blob(const Json& line) {
  expect_of_run(line);
  const Hash hash = hash_of(line, "hash");
  const std::optional<std::string> bytes = parse_base64(text_of(line, "base64"));
  if (!bytes) throw std::out_of_range("its base64 is none");
  blob_part_ += *bytes;
  if (blob_part_.size() > json_bytes_max) throw std::out_of_range("its value is longer than any may be");
  if (line.at("more").get<bool>()) return;
  ++counts_.blobs;
  if (sha256(blob_part_) != hash)
    run_->blob_faults.push_back(
        {run_id_, 0, "blob", "Expected the value " + hex(hash) + " to have that hash, but it is another."});
  run_->missing.erase(hash);
  if (taker_.blob) taker_.blob(hash, std::move(blob_part_));
  blob_part_.clear();
}

Status ExportAudit::close_run() {
  if (!blob_part_.empty())
    throw Fault{"Expected the rest of a value in line " + std::to_string(reader_.line()) +
                ", but found something else."};
  const std::unique_ptr<Run> run = std::move(run_);
  if (run == nullptr) return Done{};
  run->audit.end(run->head);
  std::vector<Finding> findings = run->audit.findings();
  if (findings.empty() && run->audit.last_hash() != run->chain_hash)
    findings.push_back(
        {run_id_, run->head, "run", "Expected the hash of the last event in the run's line, but it is another's."});
  for (const Hash& hash : run->missing)
    findings.push_back(
        {run_id_, 0, "blob", "Expected the value " + hex(hash) + " beside the history, but it is not there."});
  findings.insert(findings.end(), run->blob_faults.begin(), run->blob_faults.end());
  for (const Finding& finding : findings) found_(finding);
  if (!findings.empty() || run->audit.state() == nullptr || !taker_.run) return Done{};
  return taker_.run(*run->audit.state(), run->chain_hash);
}

void ExportAudit::read_end(const Json& line) {
  has_ended_ = true;
  const ExportCounts claimed{number_of<std::int64_t>(line, "runs"), number_of<std::int64_t>(line, "events"),
                             number_of<std::int64_t>(line, "graphs"), number_of<std::int64_t>(line, "blobs")};
  if (claimed != counts_) throw Fault{"Expected as many lines of each kind as the end says, but found others."};
  if (hash_of(line, "sha256") != reader_.hash_before())
    throw Fault{"Expected the SHA-256 of the file that its end says, but it has another."};
}

}  // namespace cairn
