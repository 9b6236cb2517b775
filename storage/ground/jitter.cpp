#include "storage/ground/jitter.hpp"

#include <algorithm>
#include <random>

namespace cairn {

std::int64_t jittered(std::int64_t longest) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<std::int64_t>(longest / 2, longest)(random);
}

std::int64_t BackoffPauses::next_ms() {
  const std::int64_t pause_ms = jittered(longest_ms_);
  longest_ms_ = std::min<std::int64_t>(longest_ms_ * 2, 1'000);
  return pause_ms;
}

}  // namespace cairn
