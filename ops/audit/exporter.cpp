#include "ops/audit/exporter.hpp"

#include "engine/event.hpp"
#include "ops/audit/run_source.hpp"
#include "workers/handlers/large_values.hpp"
#include "workers/session/history.hpp"

namespace cairn {
namespace {

constexpr std::int32_t export_page = 500;

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

Status Exporter::add(std::span<const RunRow> runs) {
  std::vector<HistoryRequest> requests;
  for (const RunRow& run : runs) requests.push_back({run.id});
  std::vector<StoredHistory> histories = store_.histories(requests, first_events_max);
  for (std::size_t at = 0; at < runs.size(); ++at)
    if (Status added = add(runs[at], std::move(histories[at].events)); !added) return added;
  return Done{};
}

// `page`: the first events.
Status Exporter::add(const RunRow& run, std::vector<EventRow> page) {
  const Shard shard = shard_of(run.id, store_.shards());
  std::set<Hash> blobs;
  writer_.run(run, shard);
  if (std::ssize(page) > run.head) page.resize(static_cast<std::size_t>(run.head));
  for (std::int64_t seq = 0; seq < run.head;) {
    if (seq > 0)
      page = store_.events(run.id, seq, static_cast<std::int32_t>(std::min<std::int64_t>(export_page, run.head - seq)));
    if (page.empty()) return gone(run, "event " + std::to_string(seq + 1));
    for (const EventRow& event : page)
      if (Status added = add_event(run, shard, event, blobs); !added) return added;
    seq = page.back().seq;
  }
  return Done{};
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
    for (GraphRow& graph : store_.graphs()) graphs_.insert_or_assign(graph.version, graph);
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
    const std::optional<std::string> bytes = store_.blob(shard, hash);
    if (!bytes) return gone(run, "the value " + hex(hash) + " of event " + std::to_string(event.seq));
    writer_.blob(run.id, hash, *bytes);
  }
  return Done{};
}

}  // namespace cairn
