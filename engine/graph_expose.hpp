// A graph offered as a tool to agents: its "expose". Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/json.hpp"

namespace cairn {

struct Exposed {
  std::string tool;
  std::string description;
};

// Names that begin so are those of Cairn's own tools.
inline constexpr std::string_view own_tool_prefix = "cairn_";

// What is wrong with {"tool"?, "description"}, one sentence each; none if it is right.
std::vector<std::string> expose_faults(const Json& expose);

// Nothing: the graph is no tool. Without a name the tool is called as the graph. Throws CorruptHistory for a stored
// graph whose "expose" has faults.
std::optional<Exposed> exposed(const Graph& graph);

}  // namespace cairn
