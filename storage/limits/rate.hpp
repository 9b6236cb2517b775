// A rate of starts: `n` in each `per_us`, and at most `burst` at once (the field's GCRA, a token bucket that one time
// says). In a window of the length `per_us`, wherever it begins, at most n + burst starts fall: one token comes in each
// interval of per_us / n, rounded up to a microsecond, and the bucket holds `burst` of them. Pure functions, safe from
// any thread.
//
// The state is `full_at`: when the bucket is full again if nothing more is started (the theoretical arrival time, plus
// nothing). One in the past stands for a full bucket, so that a queue that was idle needs no state.
#pragma once

#include <cstdint>
#include <string>

#include "engine/id.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

struct StartRate {
  std::int64_t n = 1;
  TimeUs per_us = 1'000'000;
  std::int64_t burst = 1;
  bool operator==(const StartRate&) const = default;
};

// Refuses `invalid`: a number below 1, more than one start in a microsecond, a bucket that takes ten years to fill.
// `of`: whose rate it is, for the sentence ("the queue model").
Status check_rate(const StartRate& rate, const std::string& of);

// The time that one start costs. REQUIRES of this and the functions below: check_rate() has passed.
TimeUs interval_us(const StartRate& rate);

// The state as it counts now: a full bucket at most `burst` intervals away, whatever the rate or the clock was when it
// was written.
TimeUs counted_full_at(const StartRate& rate, TimeUs full_at, TimeUs now_us);

// How many starts may be made now.
std::int64_t free_starts(const StartRate& rate, TimeUs full_at, TimeUs now_us);

// When the next start may be made; not later than `now_us` if one may be made now.
TimeUs next_start_at(const StartRate& rate, TimeUs full_at, TimeUs now_us);

// The state after `count` starts at `now_us`. REQUIRES: so many were free.
TimeUs full_at_after(const StartRate& rate, TimeUs full_at, TimeUs now_us, std::int64_t count);

// {"n", "per_us", "burst"}
Json rate_json(const StartRate& rate);

}  // namespace cairn
