// Authors as people: programs that commit are known by their names. Pure functions, safe from any thread.
#pragma once

#include <string_view>

namespace cairn {

// A program that commits by itself. By its name or the part of its address before "@": it ends in "[bot]", its last
// word is "bot" (words end at spaces, "-", "_", "." and "+": "snyk-bot", but not "Talbot"), or it is one of the known
// (dependabot, renovate, greenkeeper, github-actions, semantic-release, codecov, allcontributors, imgbot, web-flow,
// ...).
bool is_bot(std::string_view name, std::string_view email);

// Whether a person asked for by name or address is this author: the whole address, the part of it before "@", or whole
// words of the name, whatever the letter case.
bool is_called(std::string_view name, std::string_view email, std::string_view asked);

}  // namespace cairn
