#include "ops/audit/importer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "ops/requests/input_lines.hpp"
#include "workers/runs/projection.hpp"

namespace cairn {
namespace {

constexpr std::int32_t left_checkpoints_at_once = 10;  // they may have a megabyte each
constexpr TimeUs clock_slack_us = 60'000'000;          // processes know the database's time, but not to the microsecond

}  // namespace

Result<ImportReport> Importer::import(const std::string& file) {
  const Result<std::string> digest = file_digest(file);
  if (!digest) return digest.error();
  origin_ = {store_.database_time(), options_.by, {}, *parse_hash(*digest)};
  if (Status sound = check(file); !sound) return sound.error();
  const Status written = write(file);
  sign_left();
  if (!written) return written.error();
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
  ExportAudit audit(file, found, std::move(taker));
  audit.keep_heads();
  if (options_.trust != nullptr) audit.trust(options_.trust);
  if (Status read = audit.run(); !read) return read;
  found_ = audit.heads();
  if (count == 0) return Done{};
  return Error{Code::corrupt, first + (count > 1 ? " That is one of " + std::to_string(count) + " findings." : "")};
}

Status Importer::check_head(const ExportHead& head) {
  origin_.database = head.database;
  if (head.shards == store_.shards()) return Done{};
  return Error{Code::conflict, "Expected an export from a database with " + std::to_string(store_.shards()) +
                                   " shards as here, but it has " + std::to_string(head.shards) +
                                   "; the shard is part of what is hashed."};
}

// A run that was continued here after its export is still the same run.
Status Importer::check_run(const RunState& state, const Hash& chain_hash) {
  const std::string it = "run " + to_string(state.id);
  if (!store_.run(state.id)) {
    if (options_.running || is_ended(state.status)) return Done{};
    return Error{Code::invalid, "Expected runs that have ended, but " + it +
                                    " has not and would go on in both places; " + "--running takes it all the same."};
  }
  const std::vector<EventRow> here = store_.events(state.id, state.seq - 1, 1);
  if (!here.empty() && here.front().chain_hash == chain_hash) return Done{};
  return Error{Code::conflict, "Expected " + it + " to be the one that is here already, but its history is another."};
}

// The file may be changed meanwhile: only runs that the first reading found are taken.
Status Importer::write(const std::string& file) {
  std::string fault;
  for (GraphRow& graph : store_.graphs().names())
    if (graph.current) names_here_.insert(std::move(graph.name));
  ExportTaker taker;
  taker.graph = [this](const GraphRow& graph) {
    store_.graphs().put(graph);  // not as the current one, which is known when all runs are
    return Status(Done{});
  };
  taker.event = [this](const EventRow& event) {
    keep(event.payload.size() + sizeof event);
    if (kept_bytes_ <= options_.run_bytes_max) events_.push_back(event);
  };
  taker.blob = [this](const Hash& hash, std::string bytes) {
    keep(bytes.size());
    if (kept_bytes_ <= options_.run_bytes_max) blobs_.emplace(hash, std::move(bytes));
  };
  taker.run = [this](const RunState& state, const Hash& chain_hash) { return write_run(state, chain_hash); };
  taker.no_run = [this] { drop_run(); };
  const Status read =
      ExportAudit(
          file, [&fault](const Finding& finding) { fault = fault.empty() ? finding.says : fault; }, std::move(taker))
          .run();
  if (!read) return read;
  if (fault.empty() && written_ == found_.size()) {
    make_graphs_current();
    return Done{};
  }
  return Error{Code::corrupt, "Expected " + file + " to stay as it is while it is imported, but it was changed" +
                                  (fault.empty() ? "." : ": " + fault)};
}

void Importer::note_graph(const RunState& state) {
  if (names_here_.contains(state.graph->name)) return;
  const auto [found, is_new] =
      new_graphs_.try_emplace(state.graph->name, NewGraph{state.started_at, state.graph->version});
  if (!is_new && found->second.started_at <= state.started_at) found->second = {state.started_at, state.graph->version};
}

void Importer::make_graphs_current() {
  for (const auto& [name, graph] : new_graphs_)
    for (GraphRow& row : store_.graphs().of(std::vector<std::string>{graph.version})) {
      row.current = true;
      store_.graphs().put(row);
    }
}

Status Importer::write_run(const RunState& state, const Hash& chain_hash) {
  const bool is_same = written_ < found_.size() && found_[written_].head == Head{state.id, state.seq, chain_hash};
  if (!is_same)
    return Error{Code::corrupt, "Expected run " + to_string(state.id) +
                                    " as it was when the file was first read, but the file was changed."};
  if (kept_bytes_ > options_.run_bytes_max)
    return Error{Code::limit, "Expected run " + to_string(state.id) + " to have at most " +
                                  std::to_string(options_.run_bytes_max) +
                                  " bytes of events and large values, but it has " + std::to_string(kept_bytes_) + "."};
  ImportOrigin origin = origin_;
  origin.key = found_[written_++].key;
  const Projection rows = projection_of(state, chain_hash);
  const bool is_new =
      !store_.run(state.id) && records_.add({rows.run, rows.jobs, {}, rows.questions, {}}, events_, blobs_, origin);
  note_graph(state);
  const Head head{state.id, state.seq, chain_hash};
  is_new ? heads_.note(head) : note_left(head);
  ++(is_new ? report_.imported : report_.left);
  if (is_new) report_.events += static_cast<std::int64_t>(events_.size());
  drop_run();
  return Done{};
}

// The import that wrote it signs a run a moment later, unless its process ended before. A run that is here by another
// way than by this file is not vouched for by it.
void Importer::note_left(const Head& head) {
  const std::optional<ImportOrigin> origin = store_.all_runs().imported(head.run);
  if (!origin || origin->file_digest != origin_.file_digest) return;
  const std::vector<EventRow> here = store_.events(head.run, head.seq - 1, 1);
  if (here.empty() || here.front().chain_hash != head.chain_hash) return;
  left_since_us_ = left_.empty() ? origin->at_us : std::min(left_since_us_, origin->at_us);
  left_.push_back(head);
}

// Usually the checkpoints that follow the first import cover all of them, and no later ones are read.
void Importer::sign_left() {
  std::sort(left_.begin(), left_.end(), [](const Head& a, const Head& b) { return a.run < b.run; });
  std::set<std::size_t> open;
  for (std::size_t at = 0; at < left_.size(); ++at) open.insert(open.end(), at);
  const auto take_out = [&](const Head& covered) {
    const auto found = std::lower_bound(left_.begin(), left_.end(), covered.run,
                                        [](const Head& head, const RunId& run) { return head.run < run; });
    if (found != left_.end() && (*found == covered || (found->run == covered.run && found->seq < covered.seq)))
      open.erase(static_cast<std::size_t>(found - left_.begin()));
  };
  CheckpointTable::Place after{left_since_us_ - clock_slack_us, std::numeric_limits<std::int64_t>::min(), 0};
  while (!open.empty()) {
    const std::vector<Checkpoint> page = signatures_.checkpoints_since(after, left_checkpoints_at_once);
    if (page.empty()) break;
    for (const Checkpoint& checkpoint : page)
      if (const auto heads = parse_heads(checkpoint.heads)) std::for_each(heads->begin(), heads->end(), take_out);
    after = {page.back().at_us, page.back().process, page.back().n};
  }
  for (const std::size_t at : open) heads_.note(left_[at]);
}

// A run that does not fit is not kept, and is refused at its end.
void Importer::keep(std::size_t bytes) {
  kept_bytes_ += bytes;
  if (kept_bytes_ <= options_.run_bytes_max) return;
  events_ = {};
  blobs_ = {};
}

void Importer::drop_run() {
  events_ = {};
  blobs_ = {};
  kept_bytes_ = 0;
}

}  // namespace cairn
