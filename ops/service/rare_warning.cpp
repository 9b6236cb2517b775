#include "ops/service/rare_warning.hpp"

#include <spdlog/spdlog.h>

#include "storage/clock.hpp"

namespace cairn {
namespace {

constexpr TimeUs hour_us = 3'600'000'000;

}  // namespace

void RareWarning::say(const std::string& text) {
  if (said_at_us_ != 0 && steady_us() - said_at_us_ <= hour_us) return;
  spdlog::warn("{}", text);
  said_at_us_ = steady_us();
}

}  // namespace cairn
