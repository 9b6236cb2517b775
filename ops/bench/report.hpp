// The lines of a benchmark as a document for people. Pure functions.
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
  std::string_view demand;  // what it must reach on two cores; "": nothing is asked
};

// Markdown: the machine and its settings, a table of all cases in the order of `cases`, then the measures of each.
// Of several lines of one case the last counts.
std::string report_text(std::span<const CaseText> cases, const std::vector<Json>& lines);

// {"a": {"b": 1}} as pairs of names and texts: ("a b", "1").
std::vector<std::pair<std::string, std::string>> flat(const Json& values);

}  // namespace cairn
