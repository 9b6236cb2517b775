#include "ops/service/queue_change.hpp"

#include <utility>

namespace cairn {
namespace {

QueueSettings settings_of_queue(Store& store, const std::string& queue) {
  for (QueueSettings& settings : store.queue_settings())
    if (settings.name == queue) return std::move(settings);
  return {queue, {}, false};
}

}  // namespace

Result<QueueSettings> change_queue(Store& store, const QueueChange& change) {
  QueueSettings settings = settings_of_queue(store, change.queue);
  if (change.is_limit_given) settings.concurrency = change.concurrency;
  settings.paused = change.paused.value_or(settings.paused);
  if (const Status set = store.set_queue(settings); !set) return set.error();
  store.notify();
  return settings;
}

Json queue_settings_json(const QueueSettings& settings) {
  return {{"queue", settings.name},
          {"concurrency", settings.concurrency ? Json(*settings.concurrency) : Json(nullptr)},
          {"paused", settings.paused}};
}

}  // namespace cairn
