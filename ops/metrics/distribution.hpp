// A histogram that is counted without a lock: how many values lie in each of a few ranges, and their sum. Safe from any
// thread; a reader may see a value in its range and not yet in the sum.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cairn {

// `bounds`: the upper ends of the ranges, rising; the last range has none.
template <const auto& bounds>
class Distribution {
 public:
  static constexpr std::size_t ranges = bounds.size() + 1;

  void add(double value) {
    std::size_t range = 0;
    while (range < bounds.size() && value > bounds[range]) ++range;
    counts_[range].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  std::uint64_t count(std::size_t range) const { return counts_[range].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, ranges> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace cairn
