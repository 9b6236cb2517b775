// The setting of a queue's limits, whatever revision it has. Safe from any thread, as the store is.
#pragma once

#include <utility>

#include "storage/limit_book.hpp"
#include "storage/store.hpp"

namespace cairn::test {

inline Status set_limits(Store& store, QueueLimits wanted) {
  for (const QueueLimits& found : store.limits().queue_limits())
    if (found.name == wanted.name) wanted.revision = found.revision;
  const Result<QueueLimits> changed = store.limits().change_limits({std::move(wanted), "ada"});
  return changed ? Status(Done{}) : changed.error();
}

}  // namespace cairn::test
