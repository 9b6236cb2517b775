#include "tests/waiting.hpp"

#include <thread>

namespace cairn::test {

bool wait_until(const std::function<bool()>& yes, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (yes()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return yes();
}

}  // namespace cairn::test
