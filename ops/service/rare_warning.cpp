#include "ops/service/rare_warning.hpp"

#include <spdlog/spdlog.h>

#include "storage/clock.hpp"

namespace cairn {

void RareWarning::say(const std::string& text) {
  TimeUs before = said_at_us_;
  const TimeUs now = steady_us();
  if (before != 0 && now - before <= pause_us_) return;
  if (said_at_us_.compare_exchange_strong(before, now)) spdlog::warn("{}", text);
}

}  // namespace cairn
