// Random graphs of all verbs: fan-outs, loops, maps, calls, budgets, questions, waits. Pure functions.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "workers/simulation/chance.hpp"

namespace cairn::simulation {

struct RandomGraph {
  std::string name = "t";
  std::uint64_t blocks_max = 4;
  bool has_pure = false;         // some nodes go to the pure handler "x.pure"; all others to the effect "x.y"
  bool has_queues = false;       // some nodes are in the queue "other"
  bool is_all_in_other = false;  // with queues: all of them
  bool has_times = false;        // some nodes have a timeout
  bool has_references = false;   // settings and ends read channels and `$error`, with defaults and within texts
  bool is_fragile = false;       // failures may end the run; questions expire, waits for signals time out
};

// A graph that is not fragile ends the same in every order of completion, if its handlers do the same for the same
// input and its questions and signals are answered. It calls the graph `kid_graph`.
Json random_graph(Chance& chance, const RandomGraph& what);

inline constexpr std::string_view kid_graph = R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
    "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

}  // namespace cairn::simulation
