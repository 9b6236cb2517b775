// Queues as list entries, and what is set for them as JSON and in words. Safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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

// {"queue", "concurrency", "rate", "budgets", "reserve", "key", "key_concurrency", "key_rate", "key_budgets",
// "weights", "ageing_ms", "paused", "revision"}; a rate is null or {"n", "per_ms", "burst"}, a budget {"unit", "cap",
// "per"}, the reserve {UNIT: AMOUNT}. Cost is in the currency.
Json limits_json(const QueueLimits& limits);

Json rate_shown(const StartRate& rate);  // {"n", "per_ms", "burst"}

// A budget, of a key or of the queue as a whole, with the use of it in the window that is now.
struct BudgetLine {
  std::optional<std::string> key;
  UnitBudget budget;
  std::int64_t used = 0;
  TimeUs until_us = 0;  // the window's end
};

// Those of the queue, then those of its keys, of each budget the `limit` keys that used most. Refuses `not_found` a
// queue without budgets.
Result<std::vector<BudgetLine>> budget_lines(Store& store, const std::string& queue, std::int32_t limit);

// {"key", "unit", "per", "used", "cap", "until"}; the key is null of the queue.
Json budget_line_json(const BudgetLine& line);

// "2000000 tokens per day"
std::string budget_text(const UnitBudget& budget);

// {"at", "actor"} and the fields of limits_json() after the change.
Json limit_change_json(const LimitChangeRow& change);

// "50 per 1s, burst 10"
std::string rate_text(const StartRate& rate);

// The limits in words: "limit 4, rate 50 per 1s, burst 10, paused".
std::string limits_words(const QueueLimits& limits);

}  // namespace cairn
