#include "ops/audit/export_audit.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/corrupt_history.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "storage/chain.hpp"
#include "storage/ground/base64.hpp"
#include "workers/handlers/large_values.hpp"

namespace cairn {
namespace {

constexpr std::size_t graph_bytes_max = 256u * 1024 * 1024;
constexpr std::size_t node_bytes = 1'000;  // what a parsed node takes besides its text
constexpr std::size_t runs_max = 10'000'000;
constexpr std::int64_t findings_max = 10'000;

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
    if (!node.is_object()) continue;
    const Json map = node.value("map", Json());
    if (map.is_object() && map.contains("do")) {  // what an item leaves by is on no edge
      HandlerLabels& claimed = handlers[map.at("do").get<std::string>()];
      if (map.contains("labels"))
        claimed.declared_by_node = true;
      else
        claimed.labels.insert("ok");
    }
    if (!node.contains("do")) continue;
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
  if (event_ && kind != "part")
    throw Fault{"Expected the rest of an event in line " + std::to_string(reader_.line()) +
                ", but found something else."};
  const std::string it = "a line of kind \"" + kind + "\" in line " + std::to_string(reader_.line());
  if (has_ended_) throw Fault{"Expected nothing after the end, but found " + it + "."};
  if ((kind == "head") == head_.has_value()) throw Fault{"Expected the head once and first, but found " + it + "."};
  if (kind == "head") return read_head(line);
  if (kind == "graph") return read_graph(line);
  if (kind == "run") return read_run(line);
  if (kind == "checkpoint") return read_checkpoint(line);
  if (kind == "event")
    read_event(line);
  else if (kind == "part")
    read_part(line);
  else if (kind == "blob")
    read_blob(line);
  else if (kind == "left_out")
    read_left_out(line);
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
  graph_bytes_ += row.text.size() + node_bytes * (*made)->nodes.size();
  if (graph_bytes_ > graph_bytes_max)
    throw Fault{"Expected graphs that together take at most " + std::to_string(graph_bytes_max) +
                " bytes of memory, but they take more with " + it + "; export fewer runs at once."};
  if ((*made)->name != row.name) throw Fault{"Expected " + it + " to have that name, but it has another."};
  graphs_.add(*made, false);
  ++counts_.graphs;
  return taker_.graph ? taker_.graph(row) : Status(Done{});
}

Status ExportAudit::read_run(const Json& line) {
  if (Status closed = close_run(); !closed) return closed;
  if (counts_.checkpoints > 0)
    throw Fault{"Expected no run after a checkpoint, but found one in line " + std::to_string(reader_.line()) + "."};
  counts_before_run_ = counts_;
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
  event_ = event_row(line);
  if (!line.value("more", false)) add_event();
}

void ExportAudit::read_part(const Json& line) {
  if (!event_) throw std::out_of_range("there is no event that they belong to");
  expect_of_run(line);
  if (number_of<std::int64_t>(line, "seq") != event_->seq) throw std::out_of_range("its seq is another event's");
  event_->payload += text_of(line, "payload");
  if (event_->payload.size() > payload_bytes_max) throw std::out_of_range("its payload is longer than any may be");
  if (!line.value("more", false)) add_event();
}

void ExportAudit::add_event() {
  const EventRow row = *std::exchange(event_, std::nullopt);
  ++counts_.events;
  if (!run_->excess.empty()) return;
  run_->unmeasured += row.payload.size();
  run_->audit.add(row);
  if (run_->unmeasured > bounds_.measured_every_bytes) measure_state();
  if (run_->audit.state() != nullptr) note_blobs(row);
  if (taker_.event) taker_.event(row);
}

// The size of a state is known only by writing it down, which is done seldom.
void ExportAudit::measure_state() {
  run_->unmeasured = 0;
  const RunState* const state = run_->audit.state();
  if (state == nullptr || snapshot_text(*state).size() <= bounds_.state_bytes) return;
  give_up_run("Expected the state of run " + to_string(run_id_) + " to take at most " +
              std::to_string(bounds_.state_bytes) + " bytes, but it takes more.");
}

// Its other lines are only counted, and what was known of it takes no memory any more.
void ExportAudit::give_up_run(const std::string& says) {
  run_ = std::make_unique<Run>(run_id_, shard_of(run_id_, head_->shards), graphs_);
  run_->excess = says;
}

void ExportAudit::read_left_out(const Json& line) {
  expect_of_run(line);
  run_.reset();
  blob_part_.clear();
  const std::int64_t graphs = counts_.graphs;
  counts_ = counts_before_run_;
  counts_.graphs = graphs;
  if (taker_.no_run) taker_.no_run();
}

// A patch that is no JSON is found only here: folding does not parse it.
void ExportAudit::note_blobs(const EventRow& row) {
  if (row.payload.find("\"$blob\"") == std::string::npos) return;
  std::vector<Hash> named;
  try {
    find_blobs(parse_stored(row.payload), named);
  } catch (const CorruptHistory& fault) {
    if (run_->blob_faults.size() < RunAudit::findings_max)
      run_->blob_faults.push_back({run_id_, row.seq, "unfoldable", fault.what()});
  }
  for (const Hash& hash : named)
    if (run_->blobs.insert(hash).second) run_->missing.insert(hash);
  if (run_->blobs.size() > bounds_.blobs)
    give_up_run("Expected run " + to_string(run_id_) + " to refer to at most " + std::to_string(bounds_.blobs) +
                " large values, but it refers to more.");
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
  if (sha256(blob_part_) != hash && run_->blob_faults.size() < RunAudit::findings_max)
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
  if (!run->excess.empty()) {
    find({run_id_, 0, "file", run->excess});
    if (taker_.no_run) taker_.no_run();
    return Done{};
  }
  run->audit.end(run->head);
  std::vector<Finding> findings = run->audit.findings();
  if (findings.empty() && run->audit.last_hash() != run->chain_hash)
    findings.push_back(
        {run_id_, run->head, "run", "Expected the hash of the last event in the run's line, but it is another's."});
  for (const Hash& hash : run->missing) {
    if (findings.size() >= RunAudit::findings_max) break;
    findings.push_back(
        {run_id_, 0, "blob", "Expected the value " + hex(hash) + " next to the history, but it is not there."});
  }
  findings.insert(findings.end(), run->blob_faults.begin(), run->blob_faults.end());
  for (const Finding& finding : findings) find(finding);
  if (!findings.empty() || run->audit.state() == nullptr) {
    if (taker_.no_run) taker_.no_run();
    return Done{};
  }
  if (keeps_heads_) heads_.push_back({Head{run_id_, run->head, run->chain_hash}, {}});
  if (heads_.size() > runs_max)
    throw Fault{"Expected at most " + std::to_string(runs_max) + " runs in one file, but found more."};
  return taker_.run ? taker_.run(*run->audit.state(), run->chain_hash) : Status(Done{});
}

// Without trusted keys a checkpoint is only counted: whose it is, a file cannot say of itself.
Status ExportAudit::read_checkpoint(const Json& line) {
  if (Status closed = close_run(); !closed) return closed;
  ++counts_.checkpoints;
  if (keys_ == nullptr) return Done{};
  const std::optional<Checkpoint> checkpoint = parse_checkpoint_line(canonical(line), head_->database);
  if (!checkpoint) throw std::out_of_range("it is no checkpoint of the database that made the export");
  const PublicKey* const key = keys_->find(checkpoint->key);
  if (key == nullptr || !is_signed_by(*key, signed_bytes(*checkpoint, head_->database), checkpoint->signature))
    return Done{};
  for (const Head& head : parse_heads(checkpoint->heads).value_or(std::vector<Head>{})) cover(head, checkpoint->key);
  return Done{};
}

void ExportAudit::cover(const Head& head, const Hash& key) {
  const auto is_before = [this](std::uint32_t at, const RunId& run) { return heads_[at].head.run < run; };
  if (!is_sorted()) {
    by_run_.resize(heads_.size());
    std::iota(by_run_.begin(), by_run_.end(), std::uint32_t{0});
    std::sort(by_run_.begin(), by_run_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return heads_[a].head.run < heads_[b].head.run; });
  }
  for (auto at = std::lower_bound(by_run_.begin(), by_run_.end(), head.run, is_before);
       at != by_run_.end() && heads_[*at].head.run == head.run; ++at)
    if (heads_[*at].head == head) heads_[*at].key = key;
}

void ExportAudit::find_uncovered() {
  for (const auto& [head, key] : heads_)
    if (!key)
      find({head.run, head.seq, "unsigned",
            "Expected a checkpoint of a trusted key over event " + std::to_string(head.seq) +
                ", the last of the run, but the file has none."});
}

void ExportAudit::find(const Finding& finding) {
  found_(finding);
  if (++findings_ >= findings_max)
    throw Fault{"Expected at most " + std::to_string(findings_max) + " findings; what follows was not looked at."};
}

void ExportAudit::read_end(const Json& line) {
  has_ended_ = true;
  const ExportCounts claimed{number_of<std::int64_t>(line, "runs"), number_of<std::int64_t>(line, "events"),
                             number_of<std::int64_t>(line, "graphs"), number_of<std::int64_t>(line, "blobs"),
                             number_of<std::int64_t>(line, "checkpoints")};
  if (claimed != counts_) throw Fault{"Expected as many lines of each kind as the end says, but found others."};
  if (hash_of(line, "sha256") != reader_.hash_before())
    throw Fault{"Expected the SHA-256 of the file that its end says, but it has another."};
  if (keys_ != nullptr) find_uncovered();
}

}  // namespace cairn
