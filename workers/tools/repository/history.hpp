// The change history of a place in a code base, on which the repository tools compute: the commits that touch it, with
// author, time and files, read from a git repository or from a numstat file. Renames are followed: commits to a file
// before it was moved here count too. Reading blocks; safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workers/tools/repository/commits.hpp"
#include "workers/tools/repository/history_cache.hpp"

namespace cairn {

enum class FilesOf : std::uint8_t {
  path,    // the files of each commit that lie in the place
  commit,  // all files of each commit that touches the place
};

struct HistoryQuery {
  std::string repository;  // a git repository, or a numstat file; relative to the worker's working directory
  std::string place;       // a directory or file, by its path or the last part of it; "": all of the repository
  FilesOf files = FilesOf::path;
  std::int64_t timeout_ms = 60'000;
  std::string author = {};     // see is_called; "": all
  TimeUs since_us = 0;         // written then or later
  TimeUs until_us = never_us;  // written before that
  bool is_file = false;        // the place is a file: a directory of that name is passed over
};

struct PlaceChange {
  std::uint32_t path = 0;  // in the log's paths: the file's name of today
  std::uint32_t added = 0;
  std::uint32_t deleted = 0;
  bool is_inside = false;
};

struct PlaceCommit {
  const CommitLog::Commit* commit = nullptr;
  std::uint32_t person = 0;     // in CodeHistory::people
  std::uint32_t change_at = 0;  // in CodeHistory::changes
  std::uint32_t changes = 0;
};

struct Person {
  std::string name;  // by the mailmap
  bool is_bot = false;
};

struct CodeHistory {
  std::string path;  // the place that was found, from the top of the repository; "": all of it
  bool is_directory = true;
  bool is_git = false;
  bool is_shallow = false;               // see GitState
  std::shared_ptr<const CommitLog> log;  // shared as the cache's are
  std::vector<Person> people;
  std::vector<PlaceChange> changes;
  std::vector<PlaceCommit> commits;  // latest first
  TimeUs newest_us = 0;              // when the newest commit of the repository was written
  TimeUs latest_us = 0;              // when the latest commit to the place was, whatever the period and author
};

// Merge commits and commits without files are left out. `cache`: of histories; none: nothing is kept.
// Refuses `not_found` (no such repository, place or author), `invalid` (not a repository, unreadable rows), `limit`
// (too long), `unavailable` (git cannot be run or takes too long).
Result<CodeHistory> read_history(const HistoryQuery& query, HistoryCache* cache = nullptr);

// The shallowest directory whose last components are those of `place`, else the shallowest such file; the first by
// name among equals. Letter case, and "-", "_" and " ", make no difference. "" if there is none.
// REQUIRES: place is normal (see normal_place) and not empty.
std::string find_place(const std::vector<std::string>& paths, std::string_view place);

// As find_place, among the files alone.
std::string find_file(const std::vector<std::string>& paths, std::string_view place);

// Without "./" before and "/" after; "." and "/" are "".
std::string normal_place(std::string_view place);

bool is_under(std::string_view path, std::string_view directory);

// "a/{b => c}/d" or "b => c" as git writes renames: both paths; else the path alone.
std::vector<std::string> renamed_paths(std::string_view path);

// The text of a numstat file: a header line, then `commit author date added deleted path` with tabs between.
Result<std::vector<CodeCommit>> parse_numstat(std::string_view text);

}  // namespace cairn
