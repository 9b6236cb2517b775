// The actions that a session asks of its driver. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workers/ports/log.hpp"
#include "workers/session/store_calls.hpp"

namespace cairn {

struct Effect {
  Ticket slot = 0;
  Work work;
};

struct Note {  // for the log
  using Level = LogLevel;
  Level level = Level::debug;
  std::string text;
  Json fields = nullptr;  // the run, step, node ... that it is about; null: none
};

struct SessionActions {
  std::vector<StoreCall> calls;   // each answered once by answered() or failed()
  std::vector<Effect> effects;    // each answered by ended(), unless it is cancelled
  std::vector<Ticket> cancelled;  // effects that must stop; what they still bring is dropped
  std::vector<Note> notes;
  bool empty() const { return calls.empty() && effects.empty() && cancelled.empty() && notes.empty(); }
};

}  // namespace cairn
