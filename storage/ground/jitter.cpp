#include "storage/ground/jitter.hpp"

#include <random>

namespace cairn {

std::int64_t jittered(std::int64_t longest) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<std::int64_t>(longest / 2, longest)(random);
}

}  // namespace cairn
