// The words for an outcome of a slice: who gave what, in one sentence, with values cut by bytes. Pure functions, safe
// from any thread.
#pragma once

#include <string>

#include "engine/blame.hpp"

namespace cairn {

struct BlameWords {
  static constexpr std::size_t value_shown_max = 160;    // bytes of a value
  static constexpr std::size_t channels_shown_max = 4;   // of one outcome
  static constexpr std::size_t message_shown_max = 400;  // bytes of a reason or of a failure's sentence
};

// One sentence, which names those channels of a patch that the later outcomes read.
std::string blame_words(const BlamedOutcome& outcome, const Event& event);

}  // namespace cairn
