// The counters of one process: what it committed, claimed and read, by the events that it wrote. They begin at zero
// with the process and only rise. Counted without a lock; safe from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ops/metrics/bounded_series.hpp"
#include "ops/metrics/distribution.hpp"
#include "storage/entry.hpp"

namespace cairn {

// Label sets of one metric; what comes after counts as `other`.
inline constexpr std::size_t step_labels_max = 200;  // pairs of graph and node
inline constexpr std::size_t graph_labels_max = 100;
inline constexpr std::size_t name_labels_max = 50;  // models, tools
inline constexpr std::size_t queue_labels_max = 100;

inline constexpr std::array<double, 12> work_seconds = {0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 20, 60, 300, 1800, 7200};
inline constexpr std::array<double, 9> call_seconds = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1, 10};
inline constexpr std::array<double, 8> batch_sizes = {1, 2, 5, 10, 50, 100, 250, 500};

class Count {
 public:
  void add(std::uint64_t more = 1) { value_.fetch_add(more, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// How an attempt of a step ended.
enum class StepEnd : std::uint8_t {
  succeeded,
  reused,   // by a recorded outcome of an earlier step
  retried,  // failed, and is tried again
  failed,   // for good
  lost,     // its worker died or let it lapse
};
inline constexpr std::array step_end_words = {"succeeded", "reused", "retried", "failed", "lost"};
static_assert(step_end_words.size() == static_cast<std::size_t>(StepEnd::lost) + 1);

struct StepCounts {
  std::array<Count, step_end_words.size()> ended;
  Distribution<work_seconds> seconds;
};

struct GraphCounts {
  Count started, done, failed, aborted;
  Distribution<work_seconds> seconds;
  Count goals_succeeded, goals_failed, goals_skipped;
  Distribution<work_seconds> goal_seconds;
};

struct CallCounts {  // of a model or a tool
  Count ok, failed;
  Distribution<work_seconds> seconds;
};

struct ModelCounts {
  CallCounts calls;
  Count tokens_in, tokens_out;
  std::atomic<double> cost{0};
};

// The calls of the store whose failures are counted apart.
enum class StoreCallKind : std::uint8_t { commit, claim, read, session, other };
inline constexpr std::array store_call_words = {"commit", "claim", "read", "session", "other"};
static_assert(store_call_words.size() == static_cast<std::size_t>(StoreCallKind::other) + 1);

// In the order of Verdict::Kind.
inline constexpr std::array verdict_words = {"committed", "conflict", "stale", "closed", "archived", "refused"};
static_assert(verdict_words.size() == static_cast<std::size_t>(Verdict::Kind::refused) + 1);

struct WorkCounts {
  BoundedSeries<StepCounts, 2> steps{step_labels_max};     // graph, node
  BoundedSeries<GraphCounts, 1> graphs{graph_labels_max};  // graph
  BoundedSeries<ModelCounts, 1> models{name_labels_max};
  BoundedSeries<CallCounts, 1> tools{name_labels_max};
  BoundedSeries<Distribution<work_seconds>, 1> waits{queue_labels_max};  // queue: from due to claimed

  Count events;
  std::array<Count, verdict_words.size()> entries;
  Distribution<batch_sizes> commit_entries;
  Distribution<call_seconds> commit_seconds;
  Distribution<call_seconds> claim_seconds;
  Count jobs_claimed;
  Count histories_read;
  Count wake_ups, wake_ups_sent;
  std::array<Count, store_call_words.size()> faults;
};

}  // namespace cairn
