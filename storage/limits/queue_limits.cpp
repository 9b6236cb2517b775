#include "storage/limits/queue_limits.hpp"

#include <algorithm>

#include "engine/bounds.hpp"
#include "engine/job.hpp"

namespace cairn {
namespace {

constexpr TimeUs ageing_min_us = 1'000;
constexpr TimeUs ageing_max_us = std::int64_t{30} * 24 * 3'600 * 1'000'000;
constexpr std::int32_t aged_priority_max = 1'000;  // priorities further from 0 age as this one

std::optional<StartRate> read_rate(const Json& text) {
  const StartRate rate{text.at("n").get<std::int64_t>(), text.at("per_us").get<std::int64_t>(),
                       text.at("burst").get<std::int64_t>()};
  return check_rate(rate, "a queue") ? std::optional(rate) : std::nullopt;
}

}  // namespace

Status check_limits(const QueueLimits& limits) {
  if (limits.name.empty()) return Error{Code::invalid, "Expected the name of a queue, but got an empty text."};
  if (Status fits = check_name(limits.name, "the name of a queue"); !fits) return fits;
  if (limits.name == timer_queue && limits.is_bound())
    return Error{Code::invalid, "Expected a queue of steps, but " + limits.name +
                                    " is where time waits: it can be neither limited nor paused."};
  if (limits.concurrency && *limits.concurrency < 1)
    return Error{Code::invalid, "Expected a concurrency of 1 or more for the queue " + limits.name + ", but got " +
                                    std::to_string(*limits.concurrency) + "; pause it to stop it."};
  if (limits.rate)
    if (Status fits = check_rate(*limits.rate, "the queue " + limits.name); !fits) return fits;
  if (limits.ageing_us != 0 && (limits.ageing_us < ageing_min_us || limits.ageing_us > ageing_max_us))
    return Error{Code::invalid, "Expected an ageing of the queue " + limits.name +
                                    " from 1 millisecond to 30 days, but got " + std::to_string(limits.ageing_us) +
                                    " microseconds."};
  return Done{};
}

Error stale_limits(const QueueLimits& found, std::int64_t expected) {
  return {Code::stale, "Expected revision " + std::to_string(expected) + " of queue " + found.name +
                           " to change, but it has revision " + std::to_string(found.revision) + " by now."};
}

std::string limits_text(const QueueLimits& limits) {
  if (!limits.is_governed()) return "";
  Json text = {{"paused", limits.paused}};
  if (limits.rate) text["rate"] = rate_json(*limits.rate);
  if (limits.ageing_us > 0) text["ageing_us"] = limits.ageing_us;
  return canonical(text);
}

void read_limits_text(std::string_view text, QueueLimits& limits) {
  const Json read = parse_stored_object(text);
  for (const auto& [field, value] : read.items()) {
    if (field == "paused" && value.is_boolean())
      limits.paused = value.get<bool>();
    else if (field == "rate" && value.is_object() && (limits.rate = read_rate(value)))
      continue;
    else if (field == "ageing_us" && value.is_number_integer())
      limits.ageing_us = std::clamp(value.get<TimeUs>(), ageing_min_us, ageing_max_us);
    else
      limits.is_understood = false;
  }
}

TimeUs aged_rank(std::int32_t priority, TimeUs run_at_us, TimeUs ageing_us) {
  return run_at_us + std::clamp(priority, -aged_priority_max, aged_priority_max) * ageing_us;
}

std::int64_t aged_priority(std::int32_t priority, TimeUs run_at_us, TimeUs ageing_us, TimeUs now_us) {
  if (ageing_us == 0) return priority;
  return std::clamp(priority, -aged_priority_max, aged_priority_max) - (now_us - run_at_us) / ageing_us;
}

}  // namespace cairn
