// A reader of git repositories through the `git` program: fixed arguments, no shell, no user configuration, none of the
// programs that a repository's own configuration may name. Each function blocks for `timeout_ms` at most and is safe
// from any thread. Each refuses `invalid` (no repository; git's last word is in the sentence), `limit` (git prints
// more than is read) and `unavailable` (git cannot be run, or takes too long).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workers/tools/repository/commits.hpp"

namespace cairn {

struct GitState {
  std::string directory;    // its git directory, an absolute path
  std::string head;         // the id of the commit at HEAD
  bool is_shallow = false;  // its history is cut: the oldest commits seem to have made all files
};

Result<GitState> git_state(const std::string& repository, std::int64_t timeout_ms);

// The files at HEAD, from the top of the repository.
Result<std::vector<std::string>> git_files(const std::string& repository, std::int64_t timeout_ms);

// The commits from which `head` came that `known` did not come from ("": all), latest first, without merges.
Result<std::vector<std::string>> git_commit_ids(const std::string& repository, const std::string& head,
                                                const std::string& known, std::int64_t timeout_ms);

// Whether `head` came from `known`, a commit that the repository may not have at all.
bool git_came_from(const std::string& repository, const std::string& head, const std::string& known,
                   std::int64_t timeout_ms);

// These commits with their files, in the order of the ids; renames are found. One whose list of files is longer than
// git_output_bytes_max has none.
inline constexpr std::size_t git_output_bytes_max = 64u * 1024 * 1024;
Result<std::vector<CodeCommit>> git_commits(const std::string& repository, std::span<const std::string> ids,
                                            std::int64_t timeout_ms);

// The output of `git log -z --numstat` in the format of git_commits. Refuses `invalid`.
Result<std::vector<CodeCommit>> parse_git_log(std::string_view text);

// The name of each author by the repository's mailmap, in their order.
Result<std::vector<std::string>> git_names(const std::string& repository, const std::vector<CommitLog::Author>& authors,
                                           std::int64_t timeout_ms);

// A file at HEAD as it is stored; nothing if there is none of that path, or it is longer than `bytes_max`.
Result<std::optional<std::string>> git_text(const std::string& repository, const std::string& path,
                                            std::size_t bytes_max, std::int64_t timeout_ms);

// The lines of a file, a path from the top, in the commit `head` by their last authors. Changes of white space, and
// lines moved within the file, are not seen as new.
struct BlamedLines {
  std::string author;
  std::string email;
  std::int64_t at_s = 0;  // the latest of these lines
  std::size_t lines = 0;
};
Result<std::vector<BlamedLines>> git_blame(const std::string& repository, const std::string& head,
                                           const std::string& path, std::int64_t timeout_ms);

}  // namespace cairn
