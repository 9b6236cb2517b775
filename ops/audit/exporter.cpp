#include "ops/audit/exporter.hpp"

#include <algorithm>

#include "engine/corrupt_history.hpp"
#include "engine/event.hpp"
#include "ops/audit/run_source.hpp"
#include "workers/handlers/large_values.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

constexpr std::int32_t export_page = 500;
constexpr std::int32_t checkpoints_at_once = 10;     // they may have a megabyte each
constexpr TimeUs signed_before_us_max = 60'000'000;  // of the process that committed and the one that signed

// The versions of graphs that the event names; none if it cannot be read, which is for an audit to report.
std::vector<std::string> graphs_of(const EventRow& row) {
  static const std::int16_t starts = event_type(RunStarted{}).number;
  static const std::int16_t moves = event_type(RunMoved{}).number;
  if (row.type != starts && row.type != moves) return {};
  const Result<Event> event = event_of(row);
  return event ? graphs_named_by(event->body) : std::vector<std::string>{};
}

Error gone(const RunRow& run, const std::string& what) {
  return {Code::corrupt, "Expected " + what + " of run " + to_string(run.id) + ", but it is gone."};
}

}  // namespace

Exporter::Exporter(Store& store, ExportWriter& writer, const std::string& by, Purpose purpose)
    : store_(store), writer_(writer) {
  writer_.head({store.shards(), store.identity(), store.database_time(), by, purpose == Purpose::archive});
}

void Exporter::add(std::span<const RunRow> runs, const LeftOut& left_out) {
  std::vector<HistoryRequest> requests;
  for (const RunRow& run : runs) requests.push_back({run.id});
  std::vector<StoredHistory> histories(runs.size());
  try {
    histories = store_.histories(requests, first_events_max);
  } catch (const CorruptHistory&) {  // each then reads its own events, and one cannot
  }
  for (std::size_t at = 0; at < runs.size(); ++at) add(runs[at], std::move(histories[at].events), left_out);
}

// `page`: the first events, or none.
void Exporter::add(const RunRow& run, std::vector<EventRow> page, const LeftOut& left_out) {
  writer_.run(run, shard_of(run.id, store_.shards()));
  Status added = Done{};
  try {
    added = add_history(run, std::move(page));
  } catch (const CorruptHistory& fault) {
    added = Error{Code::corrupt, fault.what()};
  }
  if (!added) {
    writer_.leave_out(run.id, added.error().message);
    return left_out(run.id, added.error().message);
  }
  std::copy_n(run.chain_hash.begin(), HeadMark{}.size(), heads_.emplace_back().begin());
  oldest_head_us_ = std::min(oldest_head_us_, run.updated_at);
}

Status Exporter::add_history(const RunRow& run, std::vector<EventRow> page) {
  const Shard shard = shard_of(run.id, store_.shards());
  std::set<Hash> blobs;
  if (std::ssize(page) > run.head) page.resize(static_cast<std::size_t>(run.head));
  for (std::int64_t seq = 0; seq < run.head;) {
    if (seq > 0 || page.empty())
      page = store_.events(run.id, seq, static_cast<std::int32_t>(std::min<std::int64_t>(export_page, run.head - seq)));
    if (page.empty()) return gone(run, "event " + std::to_string(seq + 1));
    for (const EventRow& event : page)
      if (Status added = add_event(run, shard, event, blobs); !added) return added;
    seq = page.back().seq;
  }
  return Done{};
}

void Exporter::end(CheckpointTable* checkpoints) {
  if (checkpoints != nullptr && !heads_.empty()) add_checkpoints(*checkpoints);
  writer_.end();
}

// A head is signed soon after its event was written, so reading begins at the oldest one and ends with the last one
// found.
void Exporter::add_checkpoints(CheckpointTable& table) {
  std::sort(heads_.begin(), heads_.end());
  covered_.assign(heads_.size(), false);
  uncovered_ = heads_.size();
  CheckpointTable::Place last{oldest_head_us_ - signed_before_us_max, 0, 0};
  for (;;) {
    const std::vector<Checkpoint> page = table.checkpoints_since(last, checkpoints_at_once);
    for (const Checkpoint& checkpoint : page)
      if (covers_another(checkpoint)) writer_.checkpoint(checkpoint);
    if (uncovered_ == 0 || page.size() < static_cast<std::size_t>(checkpoints_at_once)) return;
    last = {page.back().at_us, page.back().process, page.back().n};
  }
}

// True if it names a head that none before it has named.
bool Exporter::covers_another(const Checkpoint& checkpoint) {
  const std::size_t before = uncovered_;
  for (const Head& head : parse_heads(checkpoint.heads).value_or(std::vector<Head>{})) {
    HeadMark mark;
    std::copy_n(head.chain_hash.begin(), mark.size(), mark.begin());
    const auto found = std::lower_bound(heads_.begin(), heads_.end(), mark);
    const auto place = static_cast<std::size_t>(found - heads_.begin());
    if (found == heads_.end() || *found != mark || covered_[place]) continue;
    covered_[place] = true;
    --uncovered_;
  }
  return uncovered_ < before;
}

Status Exporter::add_event(const RunRow& run, Shard shard, const EventRow& event, std::set<Hash>& blobs) {
  if (event.seq > run.head) return gone(run, "event " + std::to_string(run.head));
  for (const std::string& version : graphs_of(event))
    if (Status added = add_graph(version); !added) return added;
  if (Status added = writer_.event(run.id, shard, event); !added) return added;
  return add_blobs_of(run, shard, event, blobs);
}

Status Exporter::add_graph(const std::string& version) {
  if (written_.contains(version)) return Done{};
  if (!graphs_.contains(version))
    for (GraphRow& graph : store_.graphs().all()) graphs_.insert_or_assign(graph.version, graph);
  const auto found = graphs_.find(version);
  if (found == graphs_.end())
    return Error{Code::corrupt, "Expected the graph of version " + version + " in the database, but it is gone."};
  writer_.graph(found->second);
  written_.insert(version);
  return Done{};
}

Status Exporter::add_blobs_of(const RunRow& run, Shard shard, const EventRow& event, std::set<Hash>& blobs) {
  if (event.payload.find("\"$blob\"") == std::string::npos) return Done{};
  std::vector<Hash> named;
  find_blobs(parse_stored(event.payload), named);
  for (const Hash& hash : named) {
    if (!blobs.insert(hash).second) continue;
    const std::optional<std::string> bytes = store_.values().get(shard, hash);
    if (!bytes) return gone(run, "the value " + hex(hash) + " of event " + std::to_string(event.seq));
    writer_.blob(run.id, hash, *bytes);
  }
  return Done{};
}

}  // namespace cairn
