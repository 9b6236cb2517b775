// The runs that a committer has at hand, with their folded states, in the order of their use. Where they are too many,
// or their states take too much memory, the longest unused are forgotten: what is needed again is read again. Busy runs
// stay, so the bounds are exceeded only by what is under way. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

#include "engine/id.hpp"

namespace cairn {

struct CachedRun;

class RunCache {
 public:
  RunCache(std::size_t runs_max, std::int64_t bytes_max);
  ~RunCache();
  RunCache(const RunCache&) = delete;
  RunCache& operator=(const RunCache&) = delete;

  CachedRun* find(const RunId& id) const;  // null: it is not at hand
  CachedRun& use(const RunId& id);         // an empty one if it was not at hand
  void forget(CachedRun& run);             // REQUIRES: it is not busy

  // Counts the run's state again, which has changed.
  void measure(CachedRun& run);
  // Its state stays until the drain after the next one, for those that were promised it.
  void keep_for_a_drain(CachedRun& run) const;
  void begin_drain();

  std::size_t size() const { return runs_.size(); }
  std::int64_t bytes() const { return bytes_; }  // an estimate
  std::int64_t forgotten() const { return forgotten_; }

 private:
  void shrink();

  const std::size_t runs_max_;
  const std::int64_t bytes_max_;
  std::unordered_map<RunId, std::unique_ptr<CachedRun>> runs_;
  std::list<CachedRun*> by_use_;  // latest first
  std::uint64_t drains_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t forgotten_ = 0;
};

}  // namespace cairn
