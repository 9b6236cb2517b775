// The keys of starts as lines of JSON, for `cairn starts` and the API. Safe from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/json.hpp"
#include "storage/starts/start_book.hpp"
#include "storage/store.hpp"

namespace cairn {

// Keys of which something is open, in order, of all graphs if `graph` is "": {"graph", "key", "run": that has the key
// or null, "starting": [run ...], "collecting": {"run", "starts", "since", "due_at": time, or null for when the key is
// free} or null, "waiting": starts that wait for their turn}. Those that come after `after` alone.
std::vector<std::pair<StartKey, Json>> start_key_lines(Store& store, const std::string& graph, std::int32_t limit,
                                                       StartKey after = {});

// The key of the last line that was shown, "GRAPH KEY". Refuses `invalid` another text; `option` names what has it.
Result<StartKey> start_cursor(const std::string& text, const std::string& option);

// The run that a start which waits becomes, as far as it is known: its row, and a state without events (`waiting`, seq
// 0) with "begins": for what it waits, in words. `version`: of its graph now.
RunRow run_to_come(const FoundStart& start);
Json run_to_come_json(const FoundStart& start, const std::string& version);

}  // namespace cairn
