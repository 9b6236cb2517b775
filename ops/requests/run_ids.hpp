// The run that a person means: its id, or the first letters of it. Safe from any thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"
#include "storage/store.hpp"

namespace cairn {

inline constexpr std::size_t short_id_letters_min = 4;

// Whether the text is an id, or so many first letters of one.
bool may_begin_an_id(const std::string& text);

// A whole id is taken as it is, whether there is such a run or not. Refuses `not_found`: no id, or no run's begins so;
// `invalid`: several do, and the sentence names some.
Result<RunId> run_meant(Store& store, const std::string& text);

// The id of an event of a hook (RUN/SEQ and more) with the whole id of the run that is meant; a text without a run is
// taken as it is. Refuses as run_meant.
Result<std::string> event_meant(Store& store, const std::string& text);

// Each of them. Refuses as run_meant.
Result<std::set<RunId>> runs_meant(Store& store, const std::vector<std::string>& texts);

}  // namespace cairn
