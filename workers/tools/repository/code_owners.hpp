// A CODEOWNERS file: who is declared to own which paths. The last of the rules that match a path counts. Patterns are
// those that GitHub reads: "*", "?", "**", a leading "/" or a "/" inside for the top of the repository, a trailing
// "/" for a directory; GitLab's section lines are passed over. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

inline constexpr std::size_t code_owners_bytes_max = 3u * 1024 * 1024;  // as GitHub's limit

// The places where it may stand, the first that is there counts.
inline constexpr const char* code_owners_places[] = {".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS",
                                                     ".gitlab/CODEOWNERS"};

// The declared owners of a file or directory, from the top of the repository; "" is the repository. Empty: none.
std::vector<std::string> declared_owners(std::string_view text, std::string_view path, bool is_directory);

// Whether the pattern covers the path, or a directory that holds it.
bool covers(std::string_view pattern, std::string_view path, bool is_directory);

}  // namespace cairn
