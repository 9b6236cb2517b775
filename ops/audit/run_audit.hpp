// The check of one run's history, event by event: the hash chain, and that every event can follow. It is fed with rows
// from a database or a file in their stored order. Memory is that of the run's state. Not thread-safe; different
// threads may audit different runs, each with graphs of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/graph.hpp"
#include "engine/state.hpp"
#include "ops/audit/chain_audit.hpp"

namespace cairn {

class RunAudit {
 public:
  static constexpr std::size_t findings_max = 100;  // the rest is not checked

  // `graphs`: REQUIRES to outlive it.
  RunAudit(const RunId& run, Shard shard, const Graphs& graphs);

  void add(const EventRow& row);

  // Compares the end with the head in the run's row: events after `head` are a finding, and so are missing ones.
  void end(std::int64_t head);

  std::vector<Finding> findings() const;
  bool is_enough() const { return chain_.findings().size() >= findings_max; }
  std::int64_t events() const { return events_; }

  // The fold of all events. Null once one is altered, missing or cannot be folded: no state can be derived from such a
  // history.
  const RunState* state() const;
  const Hash& last_hash() const { return chain_.last_hash(); }  // of the last event, as stored

 private:
  void fold(const EventRow& row);

  const Graphs& graphs_;
  ChainAudit chain_;
  RunState state_;
  std::int64_t events_ = 0;
  std::optional<Finding> unfolded_;
  std::optional<Finding> end_;
};

}  // namespace cairn
