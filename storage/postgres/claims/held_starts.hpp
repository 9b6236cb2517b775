// Starts of a queue's rate for jobs that are held already, of branches that go on (LimitBook::take_starts): a rate that
// lets them begin counts them as it counts claims. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "storage/postgres/placements.hpp"

namespace cairn {

// Contract: LimitBook::take_starts.
std::int64_t take_held_starts(Placements& placements, const std::string& queue, std::int64_t count);

}  // namespace cairn
