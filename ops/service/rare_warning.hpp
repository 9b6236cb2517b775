// A warning for the log that comes once in a while at most, because it is the same a moment later. Safe from any
// thread.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "engine/id.hpp"

namespace cairn {

class RareWarning {
 public:
  explicit RareWarning(std::chrono::microseconds pause = std::chrono::hours(1)) : pause_us_(pause.count()) {}

  void say(const std::string& text);

 private:
  const TimeUs pause_us_;
  std::atomic<TimeUs> said_at_us_{0};  // steady; 0: never
};

}  // namespace cairn
