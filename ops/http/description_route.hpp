// The description of the API for programs: an OpenAPI 3.1 document, ops/http/openapi.json, that is part of the program.
// Safe from any thread.
#pragma once

#include <string_view>

#include "engine/graph.hpp"
#include "ops/http/route_call.hpp"

namespace cairn {

std::string_view api_description();

// The description for the runs of one graph: the start of a run, whose input is the graph's, and the run, whose output
// is.
Json graph_description(const Graph& graph);

// The document; 304 to a client that has it. Its tag is the hash of its bytes.
RouteReply show_description(RouteCall& call);

}  // namespace cairn
