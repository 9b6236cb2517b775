// The words in which every answer states a run's status and a duration. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "engine/state.hpp"
#include "storage/store.hpp"

namespace cairn {

// "waiting" for a running run with only questions, waits and calls open; otherwise the status' own word.
std::string status_word(const RunRow& row);
std::string status_word(const RunState& state);

// Whether the run cleans up, to end then otherwise than done. Only such a run has a reason before it has ended.
bool is_ending(const RunRow& row);
bool is_ending(const RunState& state);

// Whether the reason of an end has the message of its cause already.
bool has_message_of(const std::string& reason, const CauseOfFailure& cause);

// "1 run", "12 runs": the noun is one whose plural ends in s.
std::string counted(std::int64_t count, const std::string& noun);

std::string grouped(std::int64_t number);  // 10,001

// 2 min, 13 s, 140 ms.
std::string duration_text(TimeUs us);

}  // namespace cairn
