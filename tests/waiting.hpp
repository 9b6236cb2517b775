// For tests of what happens in its own time.
#pragma once

#include <chrono>
#include <functional>

namespace cairn::test {

// Asks again and again until yes; false after the limit.
bool wait_until(const std::function<bool()>& yes, std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace cairn::test
