#include "storage/limits/rate.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::int64_t starts_max = 1'000'000'000;
constexpr std::int64_t burst_max = 1'000'000;
constexpr TimeUs years_max_us = std::int64_t{10} * 366 * 24 * 3'600 * 1'000'000;

Status between(std::int64_t value, std::int64_t most, const std::string& what) {
  if (value >= 1 && value <= most) return Done{};
  return Error{Code::invalid,
               "Expected " + what + " from 1 to " + std::to_string(most) + ", but got " + std::to_string(value) + "."};
}

}  // namespace

Status check_rate(const StartRate& rate, const std::string& of) {
  if (Status fits = between(rate.n, starts_max, "a number of starts of " + of); !fits) return fits;
  if (Status fits = between(rate.per_us, years_max_us, "microseconds in which " + of + " makes its starts"); !fits)
    return fits;
  if (Status fits = between(rate.burst, burst_max, "a burst of " + of); !fits) return fits;
  if (rate.n > rate.per_us)
    return Error{Code::invalid, "Expected at most one start of " + of + " in each microsecond, but got " +
                                    std::to_string(rate.n) + " in " + std::to_string(rate.per_us) + "."};
  if (interval_us(rate) > years_max_us / rate.burst)
    return Error{Code::invalid, "Expected a burst of " + of + " that is there again within ten years, but one of " +
                                    std::to_string(rate.burst) + " at this rate takes longer."};
  return Done{};
}

TimeUs interval_us(const StartRate& rate) { return (rate.per_us + rate.n - 1) / rate.n; }

TimeUs counted_full_at(const StartRate& rate, TimeUs full_at, TimeUs now_us) {
  return std::clamp(full_at, now_us, now_us + rate.burst * interval_us(rate));
}

std::int64_t free_starts(const StartRate& rate, TimeUs full_at, TimeUs now_us) {
  return rate.burst - (counted_full_at(rate, full_at, now_us) - now_us + interval_us(rate) - 1) / interval_us(rate);
}

TimeUs next_start_at(const StartRate& rate, TimeUs full_at, TimeUs now_us) {
  return counted_full_at(rate, full_at, now_us) - (rate.burst - 1) * interval_us(rate);
}

TimeUs full_at_after(const StartRate& rate, TimeUs full_at, TimeUs now_us, std::int64_t count) {
  CHECK(count <= free_starts(rate, full_at, now_us));
  return counted_full_at(rate, full_at, now_us) + count * interval_us(rate);
}

Json rate_json(const StartRate& rate) { return {{"n", rate.n}, {"per_us", rate.per_us}, {"burst", rate.burst}}; }

}  // namespace cairn
