// A wait for a condition, with a limit: used in place of sleeping. Safe to call from any thread.
#pragma once

#include <chrono>
#include <functional>

namespace cairn::test {

// Polls until `yes` returns true; returns false at the limit.
bool wait_until(const std::function<bool()>& yes, std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace cairn::test
