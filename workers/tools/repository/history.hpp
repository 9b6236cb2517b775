// The change history of a code base, on which the repository tools compute: commits with author, time and files, read
// from a git repository or from a numstat file. Reading blocks; safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workers/tools/repository/commits.hpp"

namespace cairn {

struct CodeHistory {
  std::string path;                 // the place asked for, from the top of the repository; "": all of it
  std::vector<CodeCommit> commits;  // latest first
};

struct HistoryQuery {
  std::string repository;  // a git repository, or a numstat file; relative to the worker's working directory
  std::string place;       // a directory or file, by its path or the last part of it; "": all of the repository
  FilesOf files = FilesOf::path;
  std::int64_t timeout_ms = 60'000;
};

// Merge commits and commits without files are left out.
// Refuses `not_found` (no such repository or place), `invalid` (not a repository, unreadable rows), `limit` (too long),
// `unavailable` (git cannot be run or takes too long).
Result<CodeHistory> read_history(const HistoryQuery& query);

// The shallowest directory whose last components are those of `place`, else the shallowest such file; the first by
// name among equals. Letter case, and "-", "_" and " ", make no difference. "" if there is none.
// REQUIRES: place is normal (see normal_place) and not empty.
std::string find_place(const std::vector<std::string>& paths, std::string_view place);

// Without "./" before and "/" after; "." and "/" are "".
std::string normal_place(std::string_view place);

bool is_under(std::string_view path, std::string_view directory);

// "a/{b => c}/d" or "b => c" as git writes renames: both paths; else the path alone.
std::vector<std::string> renamed_paths(std::string_view path);

// The text of a numstat file: a header line, then `commit author date added deleted path` with tabs between.
Result<std::vector<CodeCommit>> parse_numstat(std::string_view text);

}  // namespace cairn
