// The bounds of the logic of one step: the processor time in which it looks at values, and the bytes of what it makes
// of them. Such a step is executed in a turn of its worker, which does nothing else meanwhile. Not thread-safe: the
// time is that of the thread that made it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

class LogicBounds {
 public:
  static constexpr std::int64_t ms_max = 2'000;

  // About to read so many small values. Refuses `limit`: all of them took more than `ms_max` of processor time.
  Status count(std::size_t values = 1);
  // The same for one value that may take a moment by itself: a list or an object.
  Status count_long() { return count(16); }
  // After one that may take as long as all together.
  Status check_clock();

  // `part` becomes a part of the result. Refuses `limit`: all parts are more than a composed value may be
  // (CompositionBound).
  Status make(const Json& part) { return made_.add(part, 1); }

 private:
  static constexpr std::size_t values_max = 256;  // until the clock is read, which costs as much as many values
  static std::int64_t processor_ms();

  CompositionBound made_;
  std::int64_t began_ms_ = processor_ms();
  std::size_t values_ = 0;  // since the clock was read
};

}  // namespace cairn
