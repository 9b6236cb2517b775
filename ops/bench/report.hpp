// The benchmark's lines as a document for people. Pure functions, safe from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

struct CaseText {
  std::string_view name;
  std::string_view title;
  std::string_view demand;  // the target on two cores; "": none
};

// Markdown: the machine and its settings, a table of all cases in the order of `cases`, then the measures of each.
// The last of several lines of one case counts.
std::string report_text(std::span<const CaseText> cases, const std::vector<Json>& lines);

// {"a": {"b": 1}} as pairs of names and texts: ("a b", "1").
std::vector<std::pair<std::string, std::string>> flat(const Json& values);

}  // namespace cairn
