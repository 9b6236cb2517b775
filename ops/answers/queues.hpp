// Queues as list entries, and what is set for them as JSON and in words. Safe from any thread.
#pragma once

#include <map>
#include <string>

#include "engine/json.hpp"
#include "storage/limit_book.hpp"
#include "storage/store.hpp"

namespace cairn {

// A queue with its jobs and its limits; either may be empty.
struct QueueLine {
  QueueRow row;
  QueueLimits limits;
};

// By name. One without jobs whose limits are as if never set is not among them.
std::map<std::string, QueueLine> queue_lines(Store& store);

// {"queue", "ready", "later", "held", "oldest"} and the fields of limits_json().
Json queue_json(const std::string& name, const QueueLine& line);

// {"queue", "concurrency", "rate", "key", "key_concurrency", "key_rate", "weights", "ageing_ms", "paused", "revision"};
// a rate is null or {"n", "per_ms", "burst"}.
Json limits_json(const QueueLimits& limits);

Json rate_shown(const StartRate& rate);  // {"n", "per_ms", "burst"}

// {"at", "actor"} and the fields of limits_json() after the change.
Json limit_change_json(const LimitChangeRow& change);

// "50 per 1s, burst 10"
std::string rate_text(const StartRate& rate);

// The limits in words: "limit 4, rate 50 per 1s, burst 10, paused".
std::string limits_words(const QueueLimits& limits);

}  // namespace cairn
