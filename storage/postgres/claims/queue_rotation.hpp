// The order in which claims serve their queues: each claim begins with another one, so that at equal priority none is
// served last for ever. Safe from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace cairn {

class QueueRotation {
 public:
  // The same queues in the next order. REQUIRES: there are some.
  std::vector<std::string> turned(std::vector<std::string> queues) {
    const auto first = static_cast<std::ptrdiff_t>(claims_++ % queues.size());
    std::rotate(queues.begin(), queues.begin() + first, queues.end());
    return queues;
  }

 private:
  std::atomic<std::size_t> claims_ = 0;
};

}  // namespace cairn
