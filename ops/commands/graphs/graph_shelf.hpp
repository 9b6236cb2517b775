// Graphs for the simulator: a graph and all that it calls, from those that are built in, from files of one folder
// (NAME.json), or else from the database, which is opened only if it is needed. Used from one thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "ops/requests/requests.hpp"
#include "workers/catalogue.hpp"

namespace cairn {

// `name`: a file, or a graph's name. The graph itself first. Refuses `invalid` (its faults), `not_found`, and as
// open_database does.
Result<std::vector<Json>> graphs_for(const Settings& settings, const Catalogue& catalogue, const std::string& name);
// The same of a graph that is here; `folder` is that of the files ("": the working directory).
Result<std::vector<Json>> graphs_with(const Settings& settings, const Catalogue& catalogue, Json graph,
                                      const std::filesystem::path& folder);

}  // namespace cairn
