// The six tools over the history of a code base, for questions of ownership. Native and blocking; safe from any
// thread. Histories are read once and kept, see history_cache.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workers/ports/tools.hpp"

namespace cairn {

inline constexpr std::size_t co_change_files_max = 50;

// Inputs of each: {"repository": PATH, "path"?: PLACE, "limit"?: 1..100}, and of all but `blame` {"since"?, "until"?,
// "author"?, "bots"?: whether programs count}. PATH is a git repository or a numstat file, an absolute path. PLACE is a
// directory or file, by its path or the last part of it; "" is everything; one that was renamed is refused with its
// name of today. `since` and `until` are texts as period.hpp reads them, both inclusive; `author` is a name or address,
// see people.hpp. `owners` and `bus_factor` also take "measure", which is "recent" or "commits" (ownership.hpp).
// Without it a repository is measured by `recent`, a numstat file by `commits`. An input that is null counts as absent.
//
// Every answer but blame's begins {"repository", "path", "commits", "authors"}; `path` is the place that was found. If
// they were asked for, `since` and `until` follow as days and `author`; `bot_commits` if programs were left out;
// `history_is_cut` if the repository has no older commits (a shallow clone). Without any commit of that period and
// author there is only `last_commit_date`, of the latest commit to the place. Then:
//
//   owners          measure, as_of, half_life_days (of the measure `recent`), owner, owner_commits, last_commit_date,
//                   shares [{author, commits, share, last}],
//                   declared_owners and declared_in if a CODEOWNERS file names some
//
//   bus_factor      measure, as_of, half_life_days, bus_factor (smallest number of authors with half of the work),
//                   holders [{author, commits, share, last}]
//
//   recent_changes  changes [{commit, author, date, subject, files, added, deleted}], latest first
//
//   hotspots        files [{path, commits, authors, added, deleted}], most commits first
//
//   co_changes      pairs [{path, with, together, commits}], most together first; commits of more than
//                   `co_change_files_max` files do not count for pairs and are `left_out`
//
//   blame           {"repository", "path", "lines", "authors", "owner", "shares" [{author, lines, share, last}]}: who
//                   wrote the lines of one file as they are today; if it fails, `owners` answers in its place
//
// Programs (bots) count in all but owners and bus_factor, unless `bots` says otherwise. Authors with equal work are in
// the order of their latest commits. Ages count from `as_of`, the day of the repository's newest commit.
//
// `roots`: the folders below which PATH must lie, relative to the working directory, links resolved; another one is
// refused with `refused`, whatever is there. A root may also be the repository or numstat file itself.
// `cache_directory`: where histories are kept, see HistoryFolder; "": in memory only.
std::vector<ToolSpec> repository_tools(std::vector<std::string> roots, const std::string& cache_directory = "");

}  // namespace cairn
