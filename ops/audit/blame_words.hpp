// The words for an outcome of a slice: who gave what, in one sentence, with values cut by bytes. Pure functions, safe
// from any thread.
#pragma once

#include <string>

#include "engine/blame.hpp"

namespace cairn {

// One sentence, which names those channels of a patch that the later outcomes read.
std::string blame_words(const BlamedOutcome& outcome, const Event& event);

}  // namespace cairn
