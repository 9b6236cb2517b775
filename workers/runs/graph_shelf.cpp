#include "workers/runs/graph_shelf.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/graph_parsing.hpp"

namespace cairn {
namespace {

constexpr std::int64_t memory_factor = 12;  // of a parsed graph to its text; 9 to 12 were measured
constexpr std::size_t graphs_at_once = 16;

// Reads the versions, a few at a time, and keeps those for which `keeps` says so.
void read_versions(Store& store, const std::vector<std::string>& versions, ReadGraphsOf& read,
                   bool (*keeps)(const GraphRow& row)) {
  for (std::size_t at = 0; at < versions.size(); at += graphs_at_once) {
    const std::span<const std::string> piece(&versions[at], std::min(graphs_at_once, versions.size() - at));
    for (const GraphRow& row : store.graphs().of(piece)) {
      Result<GraphRef> graph = graph_of(row, {});
      if (!graph) {
        read.faults.push_back(graph.error().message);
        continue;
      }
      for (const Node& node : (*graph)->nodes)
        if (const auto* work = node.work()) read.queues.insert(work->queue);
      if (keeps(row)) read.graphs.push_back(*std::move(graph));
    }
  }
}

void add_versions(std::span<const EventRow> rows, std::set<std::string>& versions) {
  for (const EventRow& row : rows) {
    const std::optional<std::string_view> type = event_type_name(row.type);
    if (type != "run_started" && type != "run_moved") continue;
    if (const Result<Event> event = event_of(row))
      for (std::string& version : graphs_named_by(event->body)) versions.insert(std::move(version));
  }
}

// One that cannot be read is a cache of no use, and the events say the same.
void add_version(const SnapshotRow& snapshot, std::set<std::string>& versions) {
  try {
    versions.insert(parse_stored(snapshot.state).at("graph").get<std::string>());
  } catch (const std::exception&) {
  }
}

}  // namespace

std::int64_t memory_of(const Graph& graph) { return memory_factor * static_cast<std::int64_t>(graph.text.size()); }

GraphShelf::GraphShelf(Graphs graphs, std::int64_t bytes_max)
    : first_(std::move(graphs)), bytes_max_(bytes_max), graphs_(first_) {}

void GraphShelf::shelve(const GraphRef& graph) {
  others_.push_back(graph);
  bytes_ += memory_of(*graph);
}

void GraphShelf::add(const GraphRef& graph, bool make_current) {
  const auto of_version = [&graph](const GraphRef& one) { return one->version == graph->version; };
  const auto found = std::find_if(others_.begin(), others_.end(), of_version);
  GraphRef& current = current_[graph->name];
  const bool is_current = current != nullptr && of_version(current);
  if (found != others_.end()) {
    bytes_ -= memory_of(**found);
    others_.erase(found);
  }
  if (make_current) {
    if (current != nullptr && !is_current) shelve(current);
    current = graph;
  } else if (!is_current) {
    shelve(graph);
  }
  graphs_.add(graph, make_current);
}

// The registry has no way to drop one: what is kept is put into another.
void GraphShelf::trim() {
  if (bytes_ <= bytes_max_) return;
  for (; bytes_ > bytes_max_; others_.pop_front()) bytes_ -= memory_of(*others_.front());
  Graphs kept = first_;
  for (const GraphRef& graph : others_) kept.add(graph, false);
  for (const auto& [name, graph] : current_)
    if (graph != nullptr) kept.add(graph, true);
  graphs_ = std::move(kept);
}

// The mark is read first: what is added after it is found by the next reading.
ReadGraphsOf read_new_graphs(Store& store, KnownGraphs& known, bool wants_queues) {
  ReadGraphsOf read;
  const std::int64_t mark = store.graphs().mark();
  if (mark == known.mark && !known.versions.empty()) return read;
  std::vector<std::string> wanted;
  for (const GraphRow& row : store.graphs().names()) {
    const auto [found, is_new] = known.versions.emplace(row.version, row.current);
    const bool was_current = std::exchange(found->second, row.current) && !is_new;
    if (row.current ? !was_current : is_new && wants_queues) wanted.push_back(row.version);
  }
  read_versions(store, wanted, read, [](const GraphRow& row) { return row.current; });
  known.mark = mark;
  return read;
}

// A long history is read on for the versions that it names later: it may have been moved between several.
ReadGraphsOf read_graphs_of(Store& store, std::span<const Load> loads, std::span<const History> histories) {
  std::set<std::string> versions;
  for (std::size_t at = 0; at < histories.size(); ++at) {
    if (!loads[at].graphs) continue;
    const History& history = histories[at];
    if (history.snapshot) add_version(*history.snapshot, versions);
    add_versions(history.rows, versions);
    std::int64_t seq = history.rows.empty() ? 0 : history.rows.back().seq;
    for (bool is_whole = history.complete; !is_whole;) {
      const std::vector<EventRow> rows = store.events(history.run, seq, history_page);
      add_versions(rows, versions);
      is_whole = rows.size() < static_cast<std::size_t>(history_page);
      if (!rows.empty()) seq = rows.back().seq;
    }
  }
  ReadGraphsOf read;
  read_versions(store, {versions.begin(), versions.end()}, read, [](const GraphRow&) { return true; });
  return read;
}

}  // namespace cairn
