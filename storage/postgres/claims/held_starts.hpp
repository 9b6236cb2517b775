// Starts of a queue for jobs that are held already, of branches that go on (LimitBook::take_starts): rates count them
// as they count claims. Safe from any thread.
#pragma once

#include <string>

#include "storage/limits/queue_room.hpp"
#include "storage/postgres/placements.hpp"

namespace cairn {

// Contract: LimitBook::take_starts.
KeyCounts take_held_starts(Placements& placements, const std::string& queue, const KeyCounts& asked);

}  // namespace cairn
