// The actions that a session asks of its driver. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workers/session/store_calls.hpp"

namespace cairn {

struct Effect {
  Ticket slot = 0;
  Work work;
};

struct Note {  // for the log
  enum class Level : std::uint8_t { debug, warning, error };
  Level level = Level::debug;
  std::string text;
};

struct SessionActions {
  std::vector<StoreCall> calls;   // each answered once by answered() or failed()
  std::vector<Effect> effects;    // each answered by ended(), unless it is cancelled
  std::vector<Ticket> cancelled;  // effects that must stop; what they still bring is dropped
  std::vector<Note> notes;
  bool empty() const { return calls.empty() && effects.empty() && cancelled.empty() && notes.empty(); }
};

}  // namespace cairn
