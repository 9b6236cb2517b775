#include "ops/service/queue_change.hpp"

#include <utility>

namespace cairn {
namespace {

constexpr int tries_max = 100;  // so often others may change the queue between our look and our change

Status change_rate(std::optional<StartRate>& rate, const RateChange& change, const std::string& of) {
  if (change.is_gone) rate.reset();
  if (!change.n && !change.per_ms && !change.burst) return Done{};
  if (!rate && !change.n)
    return Error{Code::invalid, "Expected a number of starts as the rate of " + of +
                                    ", which has none, but got only what belongs to one."};
  if (!rate) rate = StartRate{};
  rate->n = change.n.value_or(rate->n);
  if (change.per_ms) rate->per_us = *change.per_ms * 1'000;
  rate->burst = change.burst.value_or(rate->burst);
  return Done{};
}

Status change_keys(QueueLimits& limits, const QueueChange& change) {
  if (change.key && *change.key != limits.key) limits.weights.clear();  // they are of values of the old one
  if (change.key) limits.key = *change.key;
  if (change.key && change.key->empty()) {
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

}  // namespace

Result<QueueLimits> change_queue(Store& store, const QueueChange& change, const std::string& actor) {
  for (int tries = 1;; ++tries) {
    QueueLimits limits = limits_of(store.limits(), change.queue);
    if (change.revision && limits.revision != *change.revision) return stale_limits(limits, *change.revision);
    if (change.is_limit_given) limits.concurrency = change.concurrency;
    if (const Status fine = change_rate(limits.rate, change.rate, "queue " + limits.name); !fine) return fine.error();
    if (const Status fine = change_keys(limits, change); !fine) return fine.error();
    if (change.budgets) limits.budgets = *change.budgets;
    if (change.reserves) limits.reserves = *change.reserves;
    if (change.ageing_ms) limits.ageing_us = *change.ageing_ms * 1'000;
    limits.paused = change.paused.value_or(limits.paused);
    Result<QueueLimits> changed = store.limits().change_limits({std::move(limits), actor});
    if (!changed && changed.error().code == Code::stale && !change.revision && tries < tries_max) continue;
    if (changed) store.notify();
    return changed;
  }
}

}  // namespace cairn
