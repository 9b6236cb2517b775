// A start that waits, in words. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "storage/starts/start_book.hpp"

namespace cairn {

// "until TIME", "for run ID to end" or "for its turn".
std::string waits_text(const FoundStart& start);

}  // namespace cairn
