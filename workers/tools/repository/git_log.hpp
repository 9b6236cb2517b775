// A reader of git repositories through the `git` program: fixed arguments, no shell, no user configuration, none of the
// programs that a repository's own configuration may name. Blocks; safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workers/tools/repository/commits.hpp"

namespace cairn {

// The files at HEAD, from the top of the repository.
// Refuses `invalid` (no repository; git's last word is in the sentence), `limit`, `unavailable`.
Result<std::vector<std::string>> git_files(const std::string& repository, std::int64_t timeout_ms);

// The commits that touch the path, latest first. Refuses as git_files.
Result<std::vector<CodeCommit>> git_commits(const std::string& repository, const std::string& path, FilesOf files,
                                            std::int64_t timeout_ms);

// The output of `git log -z --numstat`. Refuses `invalid`.
Result<std::vector<CodeCommit>> parse_git_log(std::string_view text);

}  // namespace cairn
