// The policy of a graph for starts with the same key: `singleton` (one run at a time), `debounce` (one run, once it has
// been quiet), `batch` (one run for many starts). At most one of them. Plain values and pure functions, safe from any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/id.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// A run has its key from its start to its end. A start meanwhile:
struct SingletonStarts {
  enum class When : std::uint8_t {
    skip,    // begins nothing
    cancel,  // cancels the run and begins when that has ended; only the latest one does
    queue,   // begins when its turn has come
  };
  When when = When::skip;
  bool operator==(const SingletonStarts&) const = default;
};
// The run begins when no start has come for `quiet_us`, or `at_most_us` after the first one (0: no such limit). Its
// input is that of the last.
struct DebouncedStarts {
  TimeUs quiet_us = 0;
  TimeUs at_most_us = 0;
  bool operator==(const DebouncedStarts&) const = default;
};
// The run begins with the `size`th start, or `after_us` after the first one. Its input is {"items": [input, ...]}.
struct BatchedStarts {
  std::int64_t size = 1;
  TimeUs after_us = 0;
  bool operator==(const BatchedStarts&) const = default;
};

struct StartPolicy {
  std::string key;  // a JSON pointer into the start's input, or "tag.NAME"; "": all starts of the graph have one key
  std::variant<SingletonStarts, DebouncedStarts, BatchedStarts> rule;

  bool is_batch() const { return std::holds_alternative<BatchedStarts>(rule); }
  const SingletonStarts* singleton() const { return std::get_if<SingletonStarts>(&rule); }
  std::string_view word() const;  // "singleton", "debounce" or "batch"
  bool operator==(const StartPolicy&) const = default;
};

inline constexpr std::int64_t batch_size_max = 10'000;
inline constexpr TimeUs start_wait_us_max = 30LL * 86'400 * 1'000'000;  // of every duration here

// The policy of a graph's definition; nothing if it says none. Durations are texts like "500ms", "10s", "5m", "1h".
// Refuses `invalid`: two policies, a field that is missing, unknown or out of its range.
Result<std::optional<StartPolicy>> parse_start_policy(const Json& graph);

}  // namespace cairn
