#include "workers/runs/run_cache.hpp"

#include <utility>

#include "workers/runs/cached_run.hpp"
#include "workers/runs/graph_shelf.hpp"

namespace cairn {
namespace {

constexpr std::int64_t state_bytes_min = 4'000;  // of memory
constexpr int tried_max = 64;                    // a cache full of busy runs is not walked at every use

}  // namespace

RunCache::RunCache(std::size_t runs_max, std::int64_t bytes_max) : runs_max_(runs_max), bytes_max_(bytes_max) {}
RunCache::~RunCache() = default;

CachedRun* RunCache::find(const RunId& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : found->second.get();
}

CachedRun& RunCache::use(const RunId& id) {
  std::unique_ptr<CachedRun>& slot = runs_[id];
  if (slot != nullptr) {
    by_use_.splice(by_use_.begin(), by_use_, slot->use);
    return *slot;
  }
  slot = std::make_unique<CachedRun>();
  slot->id = slot->state.id = id;
  by_use_.push_front(slot.get());
  slot->use = by_use_.begin();
  CachedRun& made = *slot;
  shrink();
  return made;
}

void RunCache::forget(CachedRun& run) {
  CHECK(!run.is_busy());
  bytes_ -= run.measured;
  by_use_.erase(run.use);
  runs_.erase(RunId(run.id));
}

// Never the one just used.
void RunCache::shrink() {
  auto oldest = by_use_.end();
  for (int tried = 0; (runs_.size() > runs_max_ || bytes_ > bytes_max_) && tried < tried_max; ++tried) {
    if (oldest == by_use_.begin() || --oldest == by_use_.begin()) return;
    CachedRun& run = **oldest;
    if (run.is_busy() || drains_ <= run.kept_until) continue;
    ++oldest;
    forget(run);
    ++forgotten_;
  }
}

// An estimate: the state is about as large as its last snapshot with the events that followed; parsed values and the
// parts around them take as much again. Exact sizes would cost a walk through the state for every commit. The graph
// counts by shares of those that hold it: states alone may keep many versions.
void RunCache::measure(CachedRun& run) {
  std::int64_t bytes = run.loaded ? state_bytes_min + 2 * (run.snapshot_size + run.added_bytes) : 0;
  if (run.loaded && run.state.graph != nullptr) bytes += memory_of(*run.state.graph) / run.state.graph.use_count();
  bytes_ += bytes - std::exchange(run.measured, bytes);
}

void RunCache::keep_for_a_drain(CachedRun& run) const { run.kept_until = drains_ + 1; }

void RunCache::begin_drain() {
  ++drains_;
  shrink();
}

}  // namespace cairn
