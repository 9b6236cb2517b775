#include "storage/starts/start_words.hpp"

#include "engine/keyed_starts.hpp"

namespace cairn {

std::string waits_text(const FoundStart& start) {
  const KeyedStarts state = start.state.empty() ? KeyedStarts() : read_keyed_starts(parse_stored(start.state));
  if (state.group && state.group->run == start.start.run && state.group->due_at != never_us)
    return "until " + time_text(state.group->due_at);
  return state.holder ? "for run " + to_string(*state.holder) + " to end" : "for its turn";
}

}  // namespace cairn
