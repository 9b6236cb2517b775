#include "workers/history.hpp"

#include "engine/codec.hpp"
#include "engine/evolve.hpp"
#include "engine/snapshot.hpp"

namespace cairn {
namespace {

std::string_view graph_named_by(const EventBody& body) {
  if (const auto* started = std::get_if<RunStarted>(&body)) return started->version;
  if (const auto* moved = std::get_if<RunMoved>(&body)) return moved->to_version;
  return {};
}

Status fold_row(RunState& state, const EventRow& row, const Graphs& graphs, std::vector<BranchId>& touched) {
  Result<Event> event = event_of(row);
  if (!event) return event.error();
  const std::string_view version = graph_named_by(event->body);
  if (!version.empty() && graphs.by_version(version) == nullptr)
    return Error{Code::unsupported, "Expected the graph of run " + to_string(state.id) + ", but version " +
                                        std::string(version.substr(0, 12)) + " is not stored."};
  touched.clear();
  evolve(state, *event, graphs, touched);
  return Done{};
}

}  // namespace

History read_history(Store& store, const Load& load) {
  History history;
  history.run = load.run;
  history.graphs = load.graphs;
  std::int64_t after = load.after_seq;
  if (after == 0 && load.snapshot) history.snapshot = store.snapshot(load.run, fold_version, never_us);
  if (history.snapshot) after = history.snapshot->seq;
  history.rows = store.events(load.run, after, history_page);
  history.complete = history.rows.size() < static_cast<std::size_t>(history_page);
  return history;
}

Result<Event> event_of(const EventRow& row) {
  Result<EventBody> body = decode_payload(row.type, row.version, row.payload);
  if (!body) return body.error();
  return Event{row.seq, row.at_us, row.step, row.actor, *std::move(body)};
}

Status fold_rows(RunState& state, std::span<const EventRow> rows, const Graphs& graphs) {
  std::vector<BranchId> touched;
  try {
    for (const EventRow& row : rows)
      if (Status folded = fold_row(state, row, graphs, touched); !folded) return folded;
  } catch (const std::exception& bad) {  // CorruptHistory, or JSON of a shape that no event of ours has
    return Error{Code::corrupt, bad.what()};
  }
  return Done{};
}

}  // namespace cairn
