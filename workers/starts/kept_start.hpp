// A start as it is kept until it is a run (WaitingStart::request). Pure functions, safe from any thread.
#pragma once

#include "engine/command.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {

// The start as it was asked for.
StartRun read_start(const StartKey& of, const WaitingStart& start);

}  // namespace cairn
