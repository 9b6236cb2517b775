// The benchmark's workload: handlers that cost nothing themselves, and graphs of them. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "workers/catalogue.hpp"

namespace cairn {

inline constexpr int bench_steps = 10;  // of each run of the graphs bench_steps and bench_pure, one after another
inline constexpr int bench_audit_steps = 8;

// The built-in handlers with those of the benchmark; the model at `model_url`, if it is given.
Result<std::unique_ptr<Catalogue>> bench_catalogue(const std::string& model_url = {});

// bench_steps: no-op effects that leave 300 bytes each. bench_pure: the same nodes on a pure handler.
// bench_audit: as bench_steps, but fewer, so that a run has ten events.
// bench_loop: pure steps without end. bench_replace, bench_append: the same with 1 KB each, which is the whole channel
// or is added to a list. bench_hold, bench_holds: one step and two that wait for `ms`. bench_one: a single step.
// bench_remote: as bench_steps, for workers over HTTP: handler bench.remote in queue remote.
// bench_signals: waits for the signal go, again and again.
// bench_map: a plan of `width` sub-goals, run side by side and joined.
std::vector<Json> bench_graphs();

// bench_edges: a step that fans out into `width` branches of one step each, and their join.
Json edges_graph(int width);

// The counts of this process: steps of the benchmark's handlers executed, ends of runs committed. Steady clock.
struct Executed {
  std::int64_t steps = 0;
  TimeUs first_at_us = 0;  // when the latest first step of a run began
  std::int64_t ended = 0;
  TimeUs ended_at_us = 0;  // when the latest end was known to be committed
};
Executed executed();
void note_ended(std::span<const Entry> batch, std::span<const Verdict> verdicts);

}  // namespace cairn
