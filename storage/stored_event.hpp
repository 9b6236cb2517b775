// The event of a row, as the engine reads it. A pure function, safe from any thread.
#pragma once

#include "engine/run_json.hpp"
#include "storage/log.hpp"

namespace cairn {

// REQUIRES: the row outlives it.
inline StoredEvent stored_event(const EventRow& row) {
  return {row.seq, row.at_us, row.step, row.actor, row.type, row.version, row.payload};
}

}  // namespace cairn
