// The five tools over the history of a code base, for questions of ownership. Native and blocking; safe from any
// thread.
//
// Inputs of each: {"repository": PATH, "path"?: PLACE, "limit"?: 1..100}. PATH is a git repository or a numstat file,
// relative to the worker's working directory. PLACE is a directory or file, by its path or the last part of it; "" is
// everything.
//
// Every answer begins {"repository", "path", "commits", "authors"}; `path` is the place that was found. Then:
//
//   owners          owner, owner_commits, last_commit_date,
//                   shares [{author, commits, share}]
//
//   bus_factor      bus_factor (smallest number of authors with half of the commits),
//                   holders [{author, commits, share}]
//
//   recent_changes  changes [{commit, author, date, subject, files, added, deleted}], latest first
//
//   hotspots        files [{path, commits, authors, added, deleted}], most commits first
//
//   co_changes      pairs [{path, with, together, commits}], most together first; commits of more than
//                   `co_change_files_max` files do not count for pairs and are `left_out`
//
// Authors with equally many commits are in the order of their latest commits.
#pragma once

#include <cstddef>
#include <vector>

#include "workers/ports/tools.hpp"

namespace cairn {

inline constexpr std::size_t co_change_files_max = 50;

// `roots`: the folders below which PATH must lie, relative to the working directory, links resolved; another one is
// refused with `refused`, whatever is there. A root may also be the repository or numstat file itself.
std::vector<ToolSpec> repository_tools(std::vector<std::string> roots);

}  // namespace cairn
