// The pause after an answer that says "not now": what the endpoint asks for, and the client's own where it asks for
// nothing. Sources: RFC 9110 (Retry-After), and the public documentation of the headers retry-after-ms and
// x-ratelimit-{limit,remaining,reset}-{requests,tokens}, and of Google's RetryInfo. Pure functions, safe from any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "workers/ports/http_client.hpp"

namespace cairn {

inline constexpr int own_pauses_max = 3;  // of one request, where the endpoint does not say how long

// 429 and 503: the same request may be taken later.
bool is_not_now(const HttpAnswer& answer);

// Milliseconds until the endpoint wants to be asked again, by `retry-after-ms`, else Retry-After, else the `retryDelay`
// in the error's details, else the reset of the limits that are used up (of all that are named, if none is); 0: it does
// not say, or not so that it can be read. At most a day.
std::int64_t asked_pause_ms(const HttpAnswer& answer);

// The client's own pause after `pauses` of them: 0.5 s, doubled each time, less up to a fifth by `key`, so that steps
// that were refused together do not come again together.
std::int64_t own_pause_ms(int pauses, const std::string& key);

}  // namespace cairn
