// The fields of the records that workers report over HTTP, as the description of the API types them: views, reports and
// counters add them up, and what is on record stays. Pure functions, safe from any thread.
#pragma once

#include "engine/event.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::int64_t recorded_amount_max = 1'000'000'000'000'000;

// Refuses `invalid` with one sentence: a field of the kind that has another type; tokens, a cost or a time that is
// below 0 or above recorded_amount_max. A null is as a field that is not there. Other fields may be anything.
Status check_record(RecordKind kind, const Json& fields);

}  // namespace cairn
