// A start as it is kept until it is a run (WaitingStart::request). Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/command.hpp"
#include "storage/starts/start_book.hpp"

namespace cairn {

// Input, tags, options, key and the run to continue; two starts with the same text ask for the same.
std::string start_request_text(const StartRun& command);
// The start as it was asked for.
StartRun read_start(const StartKey& of, const WaitingStart& start);

}  // namespace cairn
