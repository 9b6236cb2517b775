// A history as a golden file holds it (its graphs, its run, its events), folded to a state. Safe from any thread.
#pragma once

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "engine/codec.hpp"
#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"

namespace cairn {

inline RunState folded(const Json& history, Upcasters upcasters = shipped_upcasters()) {
  Graphs graphs;
  for (const Json& graph : history["graphs"])
    graphs.add(stored_graph(graph, "version of " + graph["name"].get<std::string>()), true);
  RunState state;
  state.id = *parse_run_id(history["run"].get<std::string>());
  std::vector<BranchId> touched;
  for (const Json& event : history["events"]) {
    Result<EventBody> body =
        decode_payload(event["type"], event["version"], event["payload"].get_ref<const std::string&>(), upcasters);
    EXPECT_TRUE(body) << event;
    if (!body) break;
    evolve(state, {event["seq"], event["at"], event["step"], event["actor"], *std::move(body)}, graphs, touched);
  }
  return state;
}

}  // namespace cairn
