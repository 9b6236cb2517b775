// The history of one run, looked over event by event: does the chain hold, and does every event follow? Fed with rows
// from a database or a file in the order in which they stand; needs neither. Memory is that of the run's state.
// Not thread-safe; different runs may be audited by different threads, each with graphs of its own.
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
  static constexpr std::size_t findings_max = 100;  // what follows is not looked at

  // `graphs`: REQUIRES to outlive it.
  RunAudit(const RunId& run, Shard shard, const Graphs& graphs);

  void add(const EventRow& row);

  // What the run's row says of the end of its history: events beyond `head` are a finding, and those it lacks.
  void end(std::int64_t head);

  std::vector<Finding> findings() const;
  bool is_enough() const { return chain_.findings().size() >= findings_max; }
  std::int64_t events() const { return events_; }

  // The fold of all events. Null once one is altered, missing or cannot be folded: what such a history implies says
  // nothing.
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
