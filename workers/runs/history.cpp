#include "workers/runs/history.hpp"

#include <algorithm>
#include <new>

#include "engine/codec.hpp"
#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "storage/chain.hpp"

namespace cairn {
namespace {

constexpr std::int32_t events_min = 40;  // of each run, however many there are
constexpr std::size_t fold_page = 256;   // events whose touched branches are remembered, where the caller wants none

Status fold_row(RunState& state, const EventRow& row, const Graphs& graphs, std::vector<BranchId>& touched) {
  Result<Event> event = event_of(row);
  if (!event) return event.error();
  for (const std::string& version : graphs_named_by(event->body))
    if (graphs.by_version(version) == nullptr)
      return Error{Code::unsupported, "Expected the graph of run " + to_string(state.id) + ", but version " +
                                          version.substr(0, 12) + " is not stored."};
  evolve(state, *event, graphs, touched);
  return Done{};
}

}  // namespace

std::vector<History> read_histories(Store& store, std::span<const Load> loads) {
  const auto count = static_cast<std::int32_t>(std::max<std::size_t>(loads.size(), 1));
  const std::int32_t limit = std::max(history_page / count, events_min);
  std::vector<HistoryRequest> requests;
  requests.reserve(loads.size());
  for (const Load& load : loads) {
    requests.push_back({load.run, load.after_seq, {}});
    if (load.after_seq == 0 && load.snapshot) requests.back().fold_version = fold_version;
  }
  std::vector<StoredHistory> stored = store.histories(requests, limit);
  std::vector<History> histories;
  histories.reserve(loads.size());
  for (std::size_t at = 0; at < loads.size(); ++at) {
    const bool is_complete = stored[at].events.size() < static_cast<std::size_t>(limit);
    histories.push_back(
        {loads[at].run, std::move(stored[at].snapshot), std::move(stored[at].events), is_complete, loads[at].graphs});
  }
  return histories;
}

std::vector<std::string> graphs_named_by(const EventBody& body) {
  if (const auto* moved = std::get_if<RunMoved>(&body)) return {moved->to_version};
  const auto* started = std::get_if<RunStarted>(&body);
  if (started == nullptr) return {};
  if (!started->forked_from) return {started->version};
  return {started->version, started->forked_from->state.value("graph", started->version)};
}

Result<Event> event_of(const EventRow& row) {
  Result<EventBody> body = decode_payload(row.type, row.version, row.payload);
  if (!body) return body.error();
  return Event{row.seq, row.at_us, row.step, row.actor, *std::move(body)};
}

Error no_memory() {
  return {Code::limit, "Expected room for the state of a run, but the memory is used up; try again later."};
}

Result<GraphRef> graph_of(const GraphRow& row, const Graphs& known) {
  if (GraphRef graph = known.by_version(row.version)) return graph;
  const std::string expected = "Expected to read graph " + row.name + ", but ";
  if (const std::string version = graph_version(row.text); version != row.version)
    return Error{Code::corrupt, expected + "its text has the hash " + version + ", and not " + row.version +
                                    ", which is its version."};
  try {
    return stored_graph(parse_stored(row.text), row.version);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& bad) {
    return Error{Code::corrupt, expected + "its text is no graph: " + bad.what()};
  }
}

Result<RunState> restored_state(const SnapshotRow& snapshot, const Graphs& graphs) {
  try {
    Result<RunState> state = carried_state(parse_stored(snapshot.state), graphs);
    if (state && state->seq != snapshot.seq)
      return Error{Code::corrupt, "Expected a snapshot of the state after event " + std::to_string(snapshot.seq) +
                                      ", but it is after event " + std::to_string(state->seq) + "."};
    return state;
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& bad) {
    return Error{Code::corrupt, bad.what()};
  }
}

Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs,
                 std::vector<BranchId>& touched) {
  try {
    for (const EventRow& row : rows)
      if (Status folded = fold_row(state, row, graphs, touched); !folded) return folded;
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& bad) {  // CorruptHistory, or JSON of a shape that no event of ours has
    return Error{Code::corrupt, bad.what()};
  }
  return Done{};
}

Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs) {
  std::vector<BranchId> touched;
  for (std::size_t at = 0; at < rows.size(); at += fold_page) {
    touched.clear();
    const std::span<const EventRow> page = rows.subspan(at, std::min(fold_page, rows.size() - at));
    if (Status folded = fold_rows(state, page, graphs, touched); !folded) return folded;
  }
  return Done{};
}

}  // namespace cairn
