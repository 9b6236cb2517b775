#include "ops/service/queue_change.hpp"

#include <algorithm>
#include <utility>

#include "engine/duration.hpp"

namespace cairn {
namespace {

constexpr int tries_max = 100;  // so often others may change the queue between our look and our change

// A name that no one can read is a slip. One for which something is set can still be changed.
Status check_new_name(const QueueLimits& limits) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  const std::string& name = limits.name;
  const bool is_blank = !name.empty() && name.find_first_not_of(' ') == std::string::npos;
  if (limits.revision > 0 || (!is_blank && std::none_of(name.begin(), name.end(), is_control))) return Done{};
  return Error{Code::invalid,
               "Expected the name of a queue in visible characters, but got " + excerpt(Json(name), 100) + "."};
}

Status change_rate(std::optional<StartRate>& rate, const RateChange& change, const std::string& of) {
  if (change.is_gone) rate.reset();
  if (!change.n && !change.per_ms && !change.burst) return Done{};
  if (!rate && !change.n)
    return Error{Code::invalid, "Expected a number of starts as the rate of " + of +
                                    ", which has none, but got only what belongs to one."};
  if (change.per_ms && *change.per_ms < 1)
    return Error{Code::invalid, "Expected a time of 1 millisecond or more in which " + of +
                                    " makes its starts, but got " + written_duration(*change.per_ms * 1'000) + "."};
  if (!rate) rate = StartRate{};
  rate->n = change.n.value_or(rate->n);
  if (change.per_ms) rate->per_us = *change.per_ms * 1'000;
  rate->burst = change.burst.value_or(rate->burst);
  return Done{};
}

Status change_keys(QueueLimits& limits, const QueueChange& change) {
  if (change.key && change.key->empty())
    return Error{Code::invalid,
                 "Expected tag.NAME or a JSON pointer into the input like /customer/id as the key of "
                 "the queue " +
                     limits.name + ", or none, but got an empty text."};
  const std::string by = change.is_key_gone ? "" : change.key.value_or(limits.key);
  if (by != limits.key) limits.weights.clear();  // they are of values of the old one
  limits.key = by;
  if (change.is_key_gone) {
    limits.key_concurrency.reset();
    limits.key_rate.reset();
    limits.key_budgets.clear();
  }
  if (change.is_fair && !limits.has_keys())
    return Error{Code::invalid, "Expected a key by which queue " + limits.name +
                                    " serves its steps in turns, but it has none: give --key with --fair."};
  if (change.is_key_limit_given) limits.key_concurrency = change.key_concurrency;
  if (change.key_budgets) limits.key_budgets = *change.key_budgets;
  for (const auto& [key, weight] : change.weights) {
    if (weight == 0)
      limits.weights.erase(key);
    else
      limits.weights[key] = weight;
  }
  return change_rate(limits.key_rate, change.key_rate, "each key of queue " + limits.name);
}

Status change_ageing(QueueLimits& limits, const QueueChange& change) {
  if (change.is_ageing_gone) limits.ageing_us = 0;
  if (!change.ageing_ms) return Done{};
  if (*change.ageing_ms < 1 || *change.ageing_ms > queue_ageing_ms_max)
    return Error{Code::invalid, "Expected an ageing of the queue " + limits.name +
                                    " from 1 millisecond to 30 days, or none, but got " +
                                    written_duration(*change.ageing_ms * 1'000) + "."};
  limits.ageing_us = *change.ageing_ms * 1'000;
  return Done{};
}

}  // namespace

Result<QueueLimits> change_queue(Store& store, const QueueChange& change, const std::string& actor) {
  for (int tries = 1;; ++tries) {
    QueueLimits limits = limits_of(store.limits(), change.queue);
    if (change.revision && limits.revision != *change.revision) return stale_limits(limits, *change.revision);
    if (const Status fine = check_new_name(limits); !fine) return fine.error();
    if (change.is_limit_given) limits.concurrency = change.concurrency;
    if (const Status fine = change_rate(limits.rate, change.rate, "queue " + limits.name); !fine) return fine.error();
    if (const Status fine = change_keys(limits, change); !fine) return fine.error();
    if (change.budgets) limits.budgets = *change.budgets;
    if (change.reserves) limits.reserves = *change.reserves;
    if (const Status fine = change_ageing(limits, change); !fine) return fine.error();
    limits.paused = change.paused.value_or(limits.paused);
    Result<QueueLimits> changed = store.limits().change_limits({std::move(limits), actor});
    if (!changed && changed.error().code == Code::stale && !change.revision && tries < tries_max) continue;
    if (changed) store.notify();
    return changed;
  }
}

}  // namespace cairn
