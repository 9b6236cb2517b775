// The graphs that a session has at hand: the current version of each name, and of the others those that came last, up
// to a bound of memory. A version that was dropped is read again with the next history that needs it; folded runs keep
// theirs meanwhile. Not thread-safe; the reading functions block on the store and are safe from any thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "storage/store.hpp"
#include "workers/runs/history.hpp"

namespace cairn {

// An estimate of the memory that a parsed graph takes.
std::int64_t memory_of(const Graph& graph);

class GraphShelf {
 public:
  // `graphs` stay. `bytes_max`: of versions that are not current, by memory_of().
  GraphShelf(Graphs graphs, std::int64_t bytes_max);

  // Keeps all graphs that come until the next trim(). Another current version of the name is current no more.
  void add(const GraphRef& graph, bool make_current);
  // Drops those that came first until the others are within the bound.
  void trim();

  const Graphs& graphs() const { return graphs_; }
  std::int64_t bytes() const { return bytes_; }  // of the versions that are not current

 private:
  void shelve(const GraphRef& graph);

  const Graphs first_;
  const std::int64_t bytes_max_;
  Graphs graphs_;
  std::map<std::string, GraphRef> current_;  // by name
  std::list<GraphRef> others_;               // the first that came first
  std::int64_t bytes_ = 0;
};

struct ReadGraphsOf {
  std::vector<GraphRef> graphs;
  std::set<std::string> queues;     // that they name, and those that were read with them
  std::vector<std::string> faults;  // of those that graph_of() refuses, a sentence each
};

// The versions that became current since, parsed; of the others that are new only the queues, as a run under one of
// them may still be open. Reads a few at a time, so that many of them take little memory. `wants_queues`: otherwise
// only current ones are read. Throws StoreUnavailable.
ReadGraphsOf read_new_graphs(Store& store, KnownGraphs& known, bool wants_queues);

// The versions that folding these histories needs. `loads`: their requests, in their order; those that did not ask for
// graphs are passed over. Throws StoreUnavailable.
ReadGraphsOf read_graphs_of(Store& store, std::span<const Load> loads, std::span<const History> histories);

}  // namespace cairn
