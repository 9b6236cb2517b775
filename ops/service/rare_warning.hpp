// A warning for the log that comes once an hour at most, because it is the same a moment later. Used by one thread.
#pragma once

#include <string>

#include "engine/id.hpp"

namespace cairn {

class RareWarning {
 public:
  void say(const std::string& text);

 private:
  TimeUs said_at_us_ = 0;  // steady; 0: never
};

}  // namespace cairn
