// The faults that a graph's edges alone show: nodes that cannot be reached, and fan-outs that are not joined.
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph.hpp"

namespace cairn {

struct Edge {
  std::string label;
  std::vector<NodeIndex> targets;  // more than one: a fan-out
};

struct Place {  // a node, as far as a walk cares
  std::string name;
  bool join = false;
  bool end = false;
  std::vector<Edge> edges;
};

struct Shape {
  std::vector<Place> places;
  NodeIndex start = -1;
  NodeIndex finally = -1;  // -1: none
};

// One plain sentence per fault: a node that cannot be reached or cannot reach an end, a join outside of a fan-out, a
// fan-out whose branches meet at two joins or that opens again inside itself. REQUIRES: every index is a place.
std::vector<std::string> walk_faults(const Shape& shape);

// A name as it stands in the sentence of a fault; one beyond name_bytes_max is cut.
std::string in_quotes(std::string_view name);

}  // namespace cairn
