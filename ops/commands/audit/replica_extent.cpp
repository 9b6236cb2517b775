#include "ops/commands/audit/replica_extent.hpp"

#include "ops/terminal/local_time.hpp"

namespace cairn {
namespace {

constexpr TimeUs clocks_differ_us = 1'000'000;  // of a replayed commit and of a checkpoint
constexpr TimeUs lag_max_us = 3'600'000'000;

}  // namespace

Result<TimeUs> audited_until(const ReplicaSeen& seen) {
  if (seen.until_us > clocks_differ_us) return seen.until_us - clocks_differ_us;
  return Error{Code::unavailable,
               "Expected a replica that knows up to when it has followed its primary, but this one does not: what is "
               "signed since then cannot be asked for. Ask the primary."};
}

Status check_lag(const ReplicaSeen& seen) {
  if (seen.follows || seen.now_us - seen.until_us <= lag_max_us) return Done{};
  return Error{Code::unavailable,
               "Expected a replica that follows its primary, or is an hour behind at most, but this one knows what was "
               "committed until " +
                   local_moment(seen.until_us) + ": nothing later was looked at. Ask the primary."};
}

std::string extent_text(const ReplicaSeen& seen) {
  return "until " + local_moment(seen.until_us) + (seen.follows ? ", and it follows its primary" : "");
}

}  // namespace cairn
