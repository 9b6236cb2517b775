// A start as it is kept until it is a run (WaitingStart::request). Pure functions, safe from any thread.
#pragma once

#include "storage/starts/start_book.hpp"
#include "workers/starts/keyed_starter.hpp"

namespace cairn {

// The start as it was asked for.
OrderedStart read_start(const StartKey& of, const WaitingStart& start);

}  // namespace cairn
