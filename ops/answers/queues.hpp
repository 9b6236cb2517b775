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

// The keys of each budget by use, most first: those after the first `after`, at most `limit`. Both together are at most
// budget_keys_max.
struct KeyPlaces {
  std::int32_t after = 0;
  std::int32_t limit = 0;
};
constexpr std::int32_t budget_keys_max = 10'000;

struct BudgetPage {
  std::vector<BudgetLine> lines;
  std::optional<std::int32_t> next;  // the `after` of the next page, if there may be one
};

// Those of the queue, on the first page alone, then those of its keys. Refuses `not_found` a queue without budgets.
Result<BudgetPage> budget_page(Store& store, const std::string& queue, KeyPlaces keys);

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
// Those of them that no column of a list of queues has: "in turns by tag.customer, each limit 2, ageing 10m"; may be
// "".
std::string further_limits_words(const QueueLimits& limits);

}  // namespace cairn
