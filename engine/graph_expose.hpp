// A graph offered to agents, as a tool or as a resource: its "expose". Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"
#include "engine/json.hpp"

namespace cairn {

struct Exposed {
  std::string tool;  // its name; "": the graph is no tool
  std::string description;
  std::string resource;   // its address; "": the graph is no resource
  std::string mime_type;  // of what the resource gives; "": as it comes
};

// Names that begin so are those of Cairn's own tools, and addresses those of its own resources.
inline constexpr std::string_view own_tool_prefix = "cairn_";
inline constexpr std::string_view own_resource_prefix = "cairn:";

// What is wrong with {"tool"?, "resource"?, "mime_type"?, "description"}, one sentence each; none if it is right.
std::vector<std::string> expose_faults(const Json& expose);

// Nothing: nothing is offered. With neither tool nor resource named, the graph is a tool that is called as the graph.
// Throws CorruptHistory for a stored graph whose "expose" has faults.
std::optional<Exposed> exposed(const Graph& graph);

// A resource's address in parts: texts, and between each two of them the name of a value.
struct ResourceAddress {
  std::vector<std::string> texts;  // one more than names
  std::vector<std::string> names;  // none: the address of one resource; otherwise of one for each choice of values
};

// The parts of "shop://order/{id}" and the like. Nothing: it is no URI of at most 500 bytes, a name is not of
// lower-case letters, digits and
// _, stands twice, or stands next to another one.
std::optional<ResourceAddress> resource_address(std::string_view resource);

}  // namespace cairn
