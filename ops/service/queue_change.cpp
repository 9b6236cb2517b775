#include "ops/service/queue_change.hpp"

#include <utility>

namespace cairn {
namespace {

constexpr int tries_max = 100;  // so often others may change the queue between our look and our change

QueueLimits limits_of_queue(Store& store, const std::string& queue) {
  for (QueueLimits& limits : limit_book(store).queue_limits())
    if (limits.name == queue) return std::move(limits);
  return {.name = queue};
}

Status change_rate(QueueLimits& limits, const QueueChange& change) {
  if (change.is_rate_gone) limits.rate.reset();
  if (!change.rate && !change.per_ms && !change.burst) return Done{};
  if (!limits.rate && !change.rate)
    return Error{Code::invalid, "Expected a number of starts as the rate of queue " + limits.name +
                                    ", which has none, but got only what belongs to one."};
  if (!limits.rate) limits.rate = StartRate{};
  limits.rate->n = change.rate.value_or(limits.rate->n);
  if (change.per_ms) limits.rate->per_us = *change.per_ms * 1'000;
  limits.rate->burst = change.burst.value_or(limits.rate->burst);
  return Done{};
}

}  // namespace

Result<QueueLimits> change_queue(Store& store, const QueueChange& change, const std::string& actor) {
  for (int tries = 1;; ++tries) {
    QueueLimits limits = limits_of_queue(store, change.queue);
    if (change.revision && limits.revision != *change.revision) return stale_limits(limits, *change.revision);
    if (change.is_limit_given) limits.concurrency = change.concurrency;
    if (const Status fine = change_rate(limits, change); !fine) return fine.error();
    if (change.ageing_ms) limits.ageing_us = *change.ageing_ms * 1'000;
    limits.paused = change.paused.value_or(limits.paused);
    Result<QueueLimits> changed = limit_book(store).change_limits({std::move(limits), actor});
    if (!changed && changed.error().code == Code::stale && !change.revision && tries < tries_max) continue;
    if (changed) store.notify();
    return changed;
  }
}

}  // namespace cairn
